"""The sentences behind reasons: written once, shown by API, panel and log alike. Waiting is worded in placement."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from app.domain.gpus import WHOLE, GpuRequirements, Kind, format_capability
from app.domain.priority import Priority
from app.domain.quantity import format_memory
from app.domain.states import Reason
from app.domain.workload import signal_of

_SIGNAL_NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_LONGEST = 400


def clip(text: str, longest: int = _LONGEST) -> str:
    """Foreign text, on one line and cut to a length that fits a sentence."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 1] + "…"


def clause(text: str) -> str:
    """Foreign text where a sentence goes on after it."""
    return clip(text).rstrip(".")


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def gpus(count: int, kind: Kind = WHOLE, adjective: str = "") -> str:
    """Slices and shares are never called GPUs without saying what they are."""
    words = " ".join(filter(None, (adjective, "shared" if kind.is_shared else "")))
    noun = f"{words} {_noun(kind)}".strip()
    return f"{plural(count, noun)} {kind.mig_profile}".rstrip()


def _noun(kind: Kind) -> str:
    return "MIG slice" if kind.mig_profile else "GPU"


def kinds(kind: Kind) -> str:
    """In general: whole GPUs, MIG slices 1g.10gb, shared GPUs."""
    which = "shared" if kind.is_shared else "" if kind.mig_profile else "whole"
    return f"{which} {_noun(kind)}s {kind.mig_profile}".strip()


def gpus_wanted(count: int, wanted: GpuRequirements) -> str:
    product = f" of product {' or '.join(wanted.products)}" if wanted.products else ""
    memory = f"{format_memory(wanted.memory_bytes)} of memory or more" if wanted.memory_bytes else ""
    capability = format_capability(wanted.compute_capability)
    capable = f"compute capability {capability} or higher" if capability else ""
    more = " and ".join(filter(None, (memory, capable)))
    return gpus(count, wanted.kind) + product + (f" with {more}" if more else "")


def because(text: str) -> str:
    """`: text`, or nothing where the cluster said nothing."""
    return f": {clip(text)}" if text.strip() else ""


def submitted(gpu_count: int, kind: Kind = WHOLE) -> str:
    return f"accepted; waits for {gpus(gpu_count, kind, 'free')} on one server"


def waited_for(reason: Reason) -> str:
    """Goes on behind how long it waited."""
    return _WAITED_FOR.get(reason) or f"({reason.replace('_', ' ')})"


_WAITED_FOR = {
    Reason.SUBMITTED: "to be looked at",
    Reason.WAITING_FOR_GPUS: "for GPUs",
    Reason.WAITING_FOR_CPU_OR_MEMORY: "for CPU or memory",
    Reason.BEHIND_RESERVATION: "behind a reservation",
    Reason.OVER_QUOTA: "for its project's quota",
    Reason.MAKING_ROOM: "for room to be made",
    Reason.NO_USABLE_SERVER: "for a usable server",
    Reason.DRIVER_TOO_OLD: "for a newer driver",
    Reason.NO_MATCHING_GPU: "for GPUs of its kind",
    Reason.NEVER_FITS: "for a larger server",
    Reason.BACKING_OFF: "before another try",
    Reason.PREEMPTED: "after it had made room",
    Reason.HELD: "on hold",
}


def held(by: str) -> str:
    return f"suspended by {by}; it takes no GPU until it is resumed"


def released(by: str) -> str:
    return f"resumed by {by}; waits for free GPUs again"


def suspend_requested(by: str) -> str:
    return f"suspend asked for by {by}; waiting until the cluster confirms that it has stopped"


def suspended(by: str, exit_code: int | None) -> str:
    return f"suspended by {by}{_container_ended(exit_code)}"


def prioritized(by: str, before: Priority, after: Priority) -> str:
    return f"priority changed from {before.words} to {after.words} by {by}"


def placed(server: str, gpu_count: int, kind: Kind = WHOLE, note: str = "") -> str:
    return f"placed on {server} with {gpus(gpu_count, kind)}; its Job is being created" + (f". {note}" if note else "")


def newer_toolkit(cuda: str, supported: str) -> str:
    return (
        f"Its CUDA {cuda} is newer than the {supported} that the server's driver was made for: it runs, but for what "
        "needs a newer driver"
    )


def clocks_differ(ahead: int) -> str:
    side = "ahead of" if ahead > 0 else "behind"
    return (
        f"the cluster's clock is {abs(ahead)} s {side} this machine's; limits are kept all the same, "
        "but times that are shown do not go together: set the clock that is wrong"
    )


def adopted(job: str, server: str) -> str:
    return f"its Job {job} is on {server} already; it is followed from here"


def superseded(job: str) -> str:
    return f"nothing of this attempt is left, and there is a later one, {job}: the database is older than the cluster"


def not_created_yet(words: str) -> str:
    return f"its Job could not be created yet{because(words)}; it is tried again"


def volumes_removed(names: Sequence[str]) -> str:
    gone = ", ".join(names)
    word, is_are = ("volume", "is") if len(names) == 1 else ("volumes", "are")
    return f"{word} {gone} {is_are} no longer there: removed by an operator before the workload could start"


def starting(server: str, detail: str) -> str:
    return f"starting on {server}{because(detail)}"


def executing(server: str) -> str:
    return f"executing on {server}"


def exited(exit_code: int) -> str:
    if exit_code == 0:
        return "ended with exit code 0"
    signal = signal_of(exit_code)
    if signal is None:
        return f"ended with exit code {exit_code}"
    return f"ended with exit code {exit_code} (signal {signal}{_named(signal)})"


def _named(signal: int) -> str:
    return f", {_SIGNAL_NAMES[signal]}" if signal in _SIGNAL_NAMES else ""


def cancel_requested(by: str, *, live: bool) -> str:
    return (
        f"cancel asked for by {by}; waiting until the cluster confirms that it has stopped"
        if live
        else f"cancelled by {by} before it was started"
    )


def cancelled(by: str, exit_code: int | None) -> str:
    return f"cancelled by {by}{_container_ended(exit_code)}"


def _container_ended(exit_code: int | None) -> str:
    return "" if exit_code is None else f"; the container {exited(exit_code)}"


def run_timeout(limit: int) -> str:
    return f"exceeded its run limit of {limit} s and was stopped"


def run_limit_reached(limit: int) -> str:
    return f"its run limit of {limit} s has passed; it is being stopped"


def start_timeout(limit: int, detail: str) -> str:
    return f"did not start executing within {limit} s of being placed{because(detail)}"


def image_invalid(detail: str) -> str:
    return f"the image can't be used{because(detail)}"


def queue_timeout(limit: int, detail: str) -> str:
    return f"found no server within {limit} s of waiting{because(detail)}"


def out_of_memory(memory: str) -> str:
    return f"killed because it used more than its memory limit of {memory}"


def unreachable(server: str) -> str:
    return f"{server} does not answer; what the workload does there is unknown"


def out_of_contact(cluster: str, since: datetime | None) -> str:
    """`since`: the last contact, None where none is known."""
    last = f" since {since:%Y-%m-%d %H:%M:%S} UTC" if since else ""
    return f"the cluster {cluster} has not answered{last}; what the workload does there is unknown"


def not_in_settings(cluster: str, settings: str) -> str:
    return f"the settings name no cluster {cluster}, where it was placed; it is followed again once {settings} names it"


def stopping_unheard(why: str) -> str:
    return f"it is to be stopped, but {why}"


def retrying(server: str, why: str, at: datetime) -> str:
    return f"tried on {server}: {clause(why)}; another server is tried after {at:%H:%M:%S} UTC"


def preempted(name: str, workload_id: str, *, by_right: bool) -> str:
    """`name` and id are those of the workload that gets the room."""
    why = "which is within its project's guarantee" if by_right else "which is of a higher priority"
    return f"preempted to make room for {clip(name)}, {workload_id}, {why}"


def preempting(words: str) -> str:
    return f"{words}; waiting until the cluster confirms that it has stopped"


def stepped_aside(words: str, at: datetime) -> str:
    return f"{words}; it waits for free GPUs again, from {at:%H:%M:%S} UTC on"


def gave_up(why: str, tries: int) -> str:
    return f"{clause(why)}; given up after {tries} tries"


UNHEALTHY_BY_PLUGIN = "the device plugin calls it unhealthy"


def gpu_failed(uuid: str, server: str, detail: str) -> str:
    return f"its GPU {uuid} on {server} is reported as failed{because(detail)}; nothing was stopped"
