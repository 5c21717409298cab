"""`gpuyard release`: which pods, what is lost with them, and not while a service works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from app.clock import SystemClock
from app.cluster.port import ClusterError, ClusterPort
from app.config import Settings
from app.domain.errors import DomainError
from app.domain.wording import plural
from app.main import closing_ports
from app.reconcile.release import Held, held_pods, of_installation, release
from app.store.database import opened
from app.store.installation import installation_id
from app.store.locks import LOOPS, open_lock

_LOST = (
    "What an ended pod knows and the database does not (exit code, times, log) is lost with it. "
    "Pods that run go on; how they end is recorded only if GPUYard comes back while their Jobs are there."
)


@dataclass(frozen=True)
class Release:
    """`everything`: pods of any GPUYard in any namespace. `force`: also beside a service that works."""

    dry_run: bool
    everything: bool
    force: bool


class NotReleasedError(DomainError):
    """A service works on the database, or some pods could not be released."""

    code = "CONFLICT"


async def run_release(settings: Settings, wanted: Release, say: Callable[[str], None]) -> None:
    """Say what is held and let it go. Raises NotReleasedError."""
    if wanted.everything and wanted.force:  # all that is left of an installation whose database is gone
        await _in_each_cluster(settings, wanted, say, _all_held)
        return
    async with opened(settings.database_url) as database, open_lock(database.url, LOOPS) as lock:
        if not (await lock.try_acquire() or wanted.force or wanted.dry_run):
            raise NotReleasedError(
                f"a service works on this database ({await lock.holder()}) and would hold the next pods; "
                "stop it first, or say --force"
            )
        await _in_each_cluster(settings, wanted, say, lambda port: _choose(port, settings, wanted))


async def _in_each_cluster(
    settings: Settings,
    wanted: Release,
    say: Callable[[str], None],
    choose: Callable[[ClusterPort], Awaitable[Sequence[Held]]],
) -> None:
    """One that fails keeps no other from being released; the first failure is raised at the end."""
    failures: list[ClusterError | NotReleasedError] = []
    async with closing_ports(settings) as ports:
        for name, port in ports.items():
            if len(ports) > 1:
                say(f"Cluster {name}:")
            try:
                await _let_go(port, await choose(port), wanted, say)
            except (ClusterError, NotReleasedError) as error:
                failures.append(error)
                if len(ports) > 1:
                    say(f"not released: {error}")
    if failures:
        raise failures[0]


async def _all_held(port: ClusterPort) -> list[Held]:
    return [Held(pod, is_recorded=False) for pod in await held_pods(port)]


async def _choose(port: ClusterPort, settings: Settings, wanted: Release) -> list[Held]:
    pods = await held_pods(port)
    ours = await of_installation(pods, await installation_id(SystemClock().now()), settings.namespace)
    if not wanted.everything:
        return ours
    known = {held.pod.uid for held in ours}
    return [*ours, *(Held(pod, is_recorded=False) for pod in pods if pod.uid not in known)]


async def _let_go(port: ClusterPort, held: Sequence[Held], wanted: Release, say: Callable[[str], None]) -> None:
    say(_counted(held))
    if not held:
        return
    say(_LOST)
    if wanted.dry_run:
        for it in held:
            say(f"  {it.pod.namespace}/{it.pod.name}  {_state(it)}")
        say("Nothing was changed.")
        return
    problems = await release(port, [it.pod for it in held])
    say(f"{plural(len(held) - len(problems), 'pod')} released.")
    if problems:
        raise NotReleasedError("\n".join((f"{plural(len(problems), 'pod')} could not be released:", *problems)))


def _counted(held: Sequence[Held]) -> str:
    states = [_state(it) for it in held]
    parts = [f"{states.count(state)} {state}" for state in ("running", "ended, not recorded", "ended, recorded")]
    return f"{plural(len(held), 'pod')} held: " + "; ".join(parts) + "." if held else "No pod is held."


def _state(held: Held) -> str:
    if not held.pod.is_over:
        return "running"
    return "ended, recorded" if held.is_recorded else "ended, not recorded"
