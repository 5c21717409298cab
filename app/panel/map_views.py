"""The map of a server's GPUs: a cell for each, and in words who has which. Total functions to frozen views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.domain.gpu_map import GpuState, counted, slice_state
from app.domain.gpus import WHOLE, Kind
from app.domain.wording import clip, plural
from app.panel import urls
from app.panel.fleet import Standing, User, Users
from app.panel.server_listing import ServerListing
from app.store.gpus import GpuRecord

_LONGEST = 160  # of what a cell says
_SHARE = Kind(is_shared=True)


@dataclass(frozen=True)
class SliceView:
    """A MIG instance."""

    state: GpuState
    words: str


@dataclass(frozen=True)
class CellView:
    """A GPU. `url` and `label`, its index, are empty where GPUs are only counted. `shares` as 2/4: so many in use."""

    state: GpuState
    words: str
    url: str = ""
    label: str = ""
    slices: tuple[SliceView, ...] = ()
    shares: str = ""


@dataclass(frozen=True)
class UseView:
    """Who has which of a server's GPUs. `url` leads to a workload of ours."""

    gpus: str
    words: str
    url: str


@dataclass(frozen=True)
class LegendView:
    state: GpuState
    count: int
    url: str
    is_chosen: bool


def counted_states(standing: Standing) -> list[GpuState]:
    """Of whole GPUs of which no agent tells."""
    seen = standing.seen if standing.is_counted else None
    return counted(
        standing.record.gpu_count,
        seen.gpus_healthy if seen else None,
        seen.gpus_free_now if seen else None,
        takes_work=standing.takes_work,
    )


def counted_cells(standing: Standing) -> tuple[CellView, ...]:
    return tuple(CellView(state, f"A GPU: {state.words}") for state in counted_states(standing))


def cells(slug: str, standing: Standing, gpus: Sequence[GpuRecord], users: Users) -> tuple[CellView, ...]:
    """Of GPUs that are there, by index."""
    share_count = shares_each(standing, gpus)
    return tuple(_cell(slug, standing, it, users.get(it.id, ()), share_count) for it in gpus)


def _cell(slug: str, standing: Standing, gpu: GpuRecord, users: Sequence[User], share_count: int) -> CellView:
    state, slices = standing.state(gpu.health, {it.whose for it in users}), slice_views(standing, gpu, users)
    shares = f"{len(users)}/{share_count}" if share_count and not slices else ""
    return CellView(
        state=state,
        words=clip(f"GPU {gpu.index}: {'; '.join(_words(state, gpu, users, slices, shares))}", _LONGEST),
        url=urls.gpu(slug, gpu.id),
        label=str(gpu.index),
        slices=slices,
        shares=shares,
    )


def _words(
    state: GpuState, gpu: GpuRecord, users: Sequence[User], slices: Sequence[SliceView], shares: str
) -> Iterator[str]:
    yield state.words
    if gpu.health_message:
        yield gpu.health_message
    if shares:
        yield f"{shares.replace('/', ' of ')} shares in use"
    if slices:
        yield ", ".join(it.words for it in slices)
    elif users and (named := sorted({it.words for it in users} - {GpuState.IN_USE.words})):
        yield ", ".join(named)


def slice_views(standing: Standing, gpu: GpuRecord, users: Sequence[User]) -> tuple[SliceView, ...]:
    """The GPU's MIG instances, in the agent's order."""
    return tuple(
        _slice(standing, instance["profile"], [it for it in users if it.instance == instance["uuid"]])
        for instance in gpu.facts.get("mig_instances", ())
    )


def _slice(standing: Standing, profile: str, users: Sequence[User]) -> SliceView:
    state = standing.doubt or slice_state({it.whose for it in users}, takes_work=standing.takes_work)
    named = sorted({it.words for it in users} - {GpuState.IN_USE.words})
    return SliceView(state, " ".join([profile, state.words, *named]))


def shares_each(standing: Standing, gpus: Sequence[GpuRecord]) -> int:
    """Of how many shares each GPU is; 0 where they are whole, or where that can't be told."""
    counts = standing.record.gpu_counts
    total, devices = counts.get(_SHARE, 0), sum(not it.facts.get("mig_enabled") for it in gpus)
    is_told = total and devices and not counts.get(WHOLE) and total % devices == 0
    return total // devices if is_told else 0


def uses(gpus: Sequence[GpuRecord], users: Users) -> tuple[UseView, ...]:
    """Each workload or pod once, by its first GPU."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for gpu in gpus:
        for user in users.get(gpu.id, ()):
            part = gpu.mig_profiles.get(user.instance, "share" if user.is_shared else "")
            found.setdefault((user.words, user.url), []).append((gpu.index, part))
    return tuple(UseView(_places(parts), words, url) for (words, url), parts in found.items())


def _places(parts: Iterable[tuple[int, str]]) -> str:
    """`0-3, 6`, or with slices and shares `2 (1g.10gb), 3 (2 of 1g.10gb)`."""
    counts = Counter(parts)
    whole = sorted(index for index, part in counts if not part)
    cut = [f"{index} ({f'{n} of ' if n > 1 else ''}{part})" for (index, part), n in sorted(counts.items()) if part]
    return ", ".join([*ranges(whole), *cut])


def ranges(numbers: Sequence[int]) -> list[str]:
    """Of ascending numbers."""
    if not numbers:
        return []
    gaps = [at for at, (one, other) in enumerate(pairwise(numbers), 1) if other != one + 1]
    groups = [numbers[a:b] for a, b in pairwise([0, *gaps, len(numbers)])]
    return [str(it[0]) if len(it) == 1 else f"{it[0]}\u2013{it[-1]}" for it in groups]


def asked_for(standing: Standing, gpus: Sequence[GpuRecord], users: Users) -> str:
    """In words, how many of the server's whole GPUs pods have asked for that no agent knows to have them yet."""
    seen = standing.seen if standing.is_counted and standing.doubt is None else None
    if seen is None or not gpus or len(standing.record.gpu_counts) != 1 or not standing.record.gpu_count:
        return ""
    asked = seen.gpus_healthy - seen.gpus_free_now - sum(1 for it in gpus if users.get(it.id))
    return f"{plural(asked, 'GPU')} asked for; who has them, its agent has not told yet" if asked > 0 else ""


def legend(slug: str, listing: ServerListing, counts: Mapping[GpuState, int]) -> Iterator[LegendView]:
    """Of the states that there are. Each leads to the servers that have such GPUs, the chosen one back to all."""
    for state in GpuState:
        is_chosen = state is listing.show
        if is_chosen or counts.get(state):
            url = listing.shown_as(slug, None if is_chosen else state)
            yield LegendView(state, counts.get(state, 0), url, is_chosen)
