"""What a pod takes of its node, by the scheduler's own rule (component-helpers, AggregateContainerRequests).

Foreign pods take GPUs too, and may do so in init containers and sidecars. Left out: a CPU or memory request that is
being resized in place, where the scheduler counts the larger of old and new.
"""

from __future__ import annotations

from collections import Counter

from app.cluster.fields import Json, amount, mapping, objects

Amounts = Counter[str]


def pod_requests(spec: Json) -> dict[str, int]:
    """The most that is taken at one time: all main containers with all sidecars, or an init container at its turn."""
    sidecars: Amounts = Counter()
    highest: Amounts = Counter()
    for container in objects(spec, "initContainers"):
        wanted = _container_requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars += wanted
        else:
            highest |= wanted + sidecars
    main: Amounts = Counter()
    for container in objects(spec, "containers"):
        main += _container_requests(container)
    of_containers = (main + sidecars) | highest
    of_pod = _amounts(mapping(mapping(spec, "resources"), "requests"))  # where given, it stands for the containers'
    return Counter({**of_containers, **of_pod}) + _amounts(mapping(spec, "overhead"))


def _container_requests(container: Json) -> Amounts:
    """A limit without a request counts as one: an API server fills it in, and this does for a simpler server."""
    resources = mapping(container, "resources")
    return _amounts(mapping(resources, "limits") | mapping(resources, "requests"))


def _amounts(resources: Json) -> Amounts:
    return Counter({name: amount(name, value) for name, value in resources.items()})
