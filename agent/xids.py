"""XID events, out of NVML's event set: the driver's word that something went wrong on a GPU.

NVML makes its callers wait for them, so a thread does. Events from before the registration are lost to NVML.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping

import pynvml

from agent.nvml import Handle, ask_or_none

_log = logging.getLogger(__name__)
_WAIT_SECONDS = 0.2
_PAUSE_SECONDS = 1.0


class NoXids:
    """For who looks only once."""

    def begin(self, _: Mapping[str, Handle]) -> None:
        return

    def end(self) -> None:
        return

    def taken(self) -> dict[str, tuple[int, ...]]:
        return {}


class XidWatch:
    """Gathers events for whoever looks next; `wake` is called when there is one."""

    def __init__(self, wake: Callable[[], None] = lambda: None, wait_seconds: float = _WAIT_SECONDS) -> None:
        """An end takes up to `wait_seconds`, since NVML's waiting can't be broken off."""
        self._wake = wake
        self._wait_ms = int(wait_seconds * 1000)
        self._lock = threading.Lock()
        self._seen: defaultdict[str, list[int]] = defaultdict(list)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, gpus: Mapping[str, Handle]) -> None:
        """Watch these, by UUID. NVML is started."""
        events = ask_or_none(pynvml.nvmlEventSetCreate)
        if events is None:
            _log.warning("this driver has no events: XIDs will not be seen")
            return
        watched = {_address(handle): uuid for uuid, handle in gpus.items() if _register(handle, events)}
        self._ended = threading.Event()
        arguments = (events, watched, self._ended)
        self._thread = threading.Thread(target=self._watch, args=arguments, name="xids", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Before NVML is stopped."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(2 * self._wait_ms / 1000)
            self._thread = None

    def taken(self) -> dict[str, tuple[int, ...]]:
        """The numbers that came since the last call, by the GPU's UUID, in their order."""
        with self._lock:
            taken = {uuid: tuple(numbers) for uuid, numbers in self._seen.items()}
            self._seen.clear()
        return taken

    def _watch(self, events: object, watched: Mapping[int, str], ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                event = pynvml.nvmlEventSetWait_v2(events, self._wait_ms)
            except pynvml.NVMLError as error:
                if error.value == pynvml.NVML_ERROR_TIMEOUT:
                    continue
                if error.value in {pynvml.NVML_ERROR_FUNCTION_NOT_FOUND, pynvml.NVML_ERROR_UNINITIALIZED}:
                    _log.warning("XIDs will not be seen: %s", error)
                    break
                # A lost GPU makes each wait fail at once; others may still have something to say.
                ended.wait(_PAUSE_SECONDS)
            else:
                self._note(watched.get(_address(event.device), ""), event.eventData)
        ask_or_none(pynvml.nvmlEventSetFree, events)

    def _note(self, uuid: str, xid: int) -> None:
        _log.warning("XID %d on %s", xid, uuid or "an unknown GPU")
        with self._lock:
            self._seen[uuid].append(int(xid))
        self._wake()


def _register(handle: Handle, events: object) -> bool:
    supported = ask_or_none(pynvml.nvmlDeviceGetSupportedEventTypes, handle) or 0
    wanted = supported & pynvml.nvmlEventTypeXidCriticalError
    # An answer without a value is a success; ask_or_none has None for both, so the error is looked for here.
    try:
        if wanted:
            pynvml.nvmlDeviceRegisterEvents(handle, wanted, events)
    except pynvml.NVMLError as error:
        _log.warning("XIDs of one GPU will not be seen: %s", error)
        return False
    return bool(wanted)


def _address(handle: object) -> int:
    """NVML hands out the same pointer for the same GPU as long as it is started."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
