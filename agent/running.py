"""`python -m agent run`: the threads of the agent, put together, watched over, and ended."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Collection, Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from agent import ending
from agent.cgroups import PodUse, WithPodUse
from agent.clock import Clock, SystemClock
from agent.collector import Collector
from agent.courier import Courier, Post
from agent.endpoint import Endpoint
from agent.gpus import Gpus
from agent.host import Host
from agent.kubelet import chosen_holders
from agent.look import Look
from agent.metrics import AgentMetrics, Delivery, NodeView
from agent.nvml import library_changed
from agent.outbox import Identity, Outbox
from agent.report import DriverState
from agent.service import Service
from agent.settings import Settings
from agent.xids import XidWatch

_log = logging.getLogger(__name__)
_WATCH_SECONDS = 1.0
_GRACE_SECONDS = 0.5  # for threads to end by themselves; what hangs in a driver is left behind
_AGAIN_SECONDS = 5.0
_MISMATCH_SECONDS = 120.0


class Collects(Protocol):
    """Looks again and again, in a thread of its own, and tells the nodes what it saw."""

    def run(self) -> None: ...

    def stop(self) -> None: ...

    def stuck_seconds(self) -> float: ...

    def watch_over(self) -> None: ...


class Node:
    """One node that this process speaks for."""

    def __init__(self, post: Post, clock: Clock, wake: Callable[[], None]) -> None:
        self.post = post
        self.latest: Look | None = None
        self._clock = clock
        self._wake = wake

    @property
    def pod_uids(self) -> Collection[str]:
        """The pods whose use the app wants to know."""
        return self.post.pod_uids

    def tell(self, look: Look) -> None:
        self.latest = look
        self.post.add(look, self._clock.monotonic())
        self._wake()

    def hush(self) -> None:
        """Be silent until the next look: the node is lost."""
        self.post.hush()

    def view(self, skew: float | None) -> NodeView:
        post = self.post
        delivery = Delivery(post.delivered, post.failed, post.box.buffered, post.box.dropped, skew)
        return NodeView(post.box.identity.node, self.latest, delivery)


class Agent:
    """All threads of this process, and the nodes that they work for."""

    def __init__(self, settings: Settings, clock: Clock, couriers: int = 1) -> None:
        self._settings = settings
        self._clock = clock
        self._started_at = clock.now()
        self._nodes: dict[str, Node] = {}
        self._posts: list[list[Post]] = [[] for _ in range(couriers)]
        self._services = [Service(settings.url, settings.token, clock, settings.ca_file) for _ in self._posts]
        self._couriers = [
            Courier(posts, service, clock, settings.interval)
            for posts, service in zip(self._posts, self._services, strict=True)
        ]
        self._stopped = threading.Event()
        self._mismatch_since: float | None = None

    def node(self, name: str, boot_id: str) -> Node:
        """The node of that name, made when it is asked for first."""
        if name not in self._nodes:
            turn = len(self._nodes) % len(self._posts)
            identity = Identity(name, boot_id, own_version(), str(uuid.uuid4()), self._started_at)
            post = Post(Outbox(identity, self._settings.buffer))
            self._nodes[name] = Node(post, self._clock, self._couriers[turn].wake)
            self._posts[turn].append(post)
        return self._nodes[name]

    def run(self, collector: Collects) -> bool:
        """Until the end comes (agent/ending.py). True: a new process has to take over, for a new driver."""
        self._serve_metrics(collector)
        threads = [self._thread(collector.run, "collector")]
        threads += [self._thread(courier.run, "courier") for courier in self._couriers]
        is_outdated = False
        while not is_outdated and not ending.has_come(_WATCH_SECONDS):
            collector.watch_over()
            is_outdated = self._is_outdated()
        self._stopped.set()
        collector.stop()
        for courier in self._couriers:
            courier.stop()
        deadline = self._clock.monotonic() + _GRACE_SECONDS
        for thread in threads:
            thread.join(max(0.0, deadline - self._clock.monotonic()))
        return is_outdated

    def views(self) -> Iterator[NodeView]:
        skew = next((service.skew for service in self._services if service.skew is not None), None)
        return (node.view(skew) for node in list(self._nodes.values()))

    def _serve_metrics(self, collector: Collects) -> None:
        """Its threads end with the process."""
        if self._settings.metrics is None:
            return
        endpoint = Endpoint(self._settings.metrics, AgentMetrics(self.views), lambda: self._complaint(collector))
        endpoint.start()
        _log.info("metrics at http://%s:%d/metrics", *endpoint.server_address[:2])

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """A thread whose work begins anew when it breaks down. It does not keep the process alive."""

        def guarded() -> None:
            while not self._stopped.is_set():
                try:
                    work()
                except Exception:  # noqa: BLE001 — the last one to hear of it; it is logged, and the work goes on
                    _log.exception("the %s broke down, and begins anew in %.0f s", name, _AGAIN_SECONDS)
                    self._stopped.wait(_AGAIN_SECONDS)

        thread = threading.Thread(target=guarded, name=name, daemon=True)
        thread.start()
        return thread

    def _states(self) -> set[DriverState]:
        return {node.latest.inventory.state for node in self._nodes.values() if node.latest is not None}

    def _is_outdated(self) -> bool:
        """A driver that fails, and another library on disk than the loaded one: only a new process can load that."""
        return bool(self._states() - {DriverState.OK, DriverState.NO_GPU}) and library_changed()

    def _complaint(self, collector: Collects) -> str:
        if seconds := collector.stuck_seconds():
            return f"the driver has not answered for {seconds:.0f} s"
        if DriverState.MISMATCH not in self._states():
            self._mismatch_since = None
            return ""
        now = self._clock.monotonic()
        self._mismatch_since = now if self._mismatch_since is None else self._mismatch_since
        # A new container is given the new driver's library by its runtime; this one keeps the old one.
        return "the driver was upgraded" if now - self._mismatch_since >= _MISMATCH_SECONDS else ""


def run(settings: Settings) -> bool:
    """Speak for this server until a signal comes. True: a new process has to take over."""
    clock, host = SystemClock(), Host()
    agent = Agent(settings, clock)
    node = agent.node(settings.node, host.boot_id())
    woken = threading.Event()
    gpus = Gpus(host, clock, chosen_holders(settings.kubelet_socket, host), XidWatch(woken.set))
    pods = PodUse(settings.cgroup_folder, clock, lambda: node.pod_uids)
    collector = Collector(
        WithPodUse(gpus, pods), clock, lambda: node.post.interval or settings.interval, node.tell, woken
    )
    return agent.run(collector)


def own_version() -> str:
    try:
        return version("gpuyard")
    except PackageNotFoundError:
        return "unknown"
