"""What an operator's admission webhooks and policies do to Jobs and pods: deny them, or put containers in.

As with everything here, a workload's own environment says it: SIM_OUTCOME names the denial, SIM_INJECT what is put in.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.simcluster.inside.behaviour import Outcome, container_env
from app.simcluster.meta import Json, name_of
from app.simcluster.resources import JOBS, ResourceType

_WHY = "images must come from registry.example.com"
_FOREVER = "1000000"
_SIDECAR = {"restartPolicy": "Always"}


@dataclass(frozen=True, slots=True)
class Denial:
    """`code` and `reason` are those of the Status that is answered."""

    code: int
    reason: str
    message: str


def denial(resource: ResourceType, obj: Json) -> Denial | None:
    """What is said against the creation of the object; None: nothing."""
    spec = obj["spec"]["template"]["spec"] if resource is JOBS else obj["spec"]
    outcomes = {container_env(container).get("SIM_OUTCOME") for container in spec["containers"]}
    if resource is not JOBS:
        return _policy(resource, obj) if Outcome.POD_DENIED in outcomes else None
    if Outcome.WEBHOOK_DENIED in outcomes:
        return Denial(403, "Forbidden", f'admission webhook "images.example.com" denied the request: {_WHY}')
    if Outcome.WEBHOOK_DOWN in outcomes:
        called = 'Post "https://images.example.com:443/validate?timeout=10s": dial tcp 192.0.2.1:443: i/o timeout'
        words = f'failed calling webhook "images.example.com": failed to call webhook: {called}'
        return Denial(500, "InternalError", f"Internal error occurred: {words}")
    return _policy(resource, obj) if Outcome.POLICY_DENIED in outcomes else None


def _policy(resource: ResourceType, obj: Json) -> Denial:
    words = f"ValidatingAdmissionPolicy 'images' with binding 'images' denied request: {_WHY}"
    return Denial(422, "Invalid", f'{resource.qualified} "{name_of(obj)}" is forbidden: {words}')


def injected(pod: Json) -> Json:
    """The pod with the containers that SIM_INJECT asks for, as a service mesh or a secrets agent puts them in."""
    spec = pod["spec"]
    asked = {
        word for item in spec["containers"] for word in container_env(item).get("SIM_INJECT", "").split(",") if word
    }
    if not asked:
        return pod
    inits = [_INITS[word] for word in ("init", "init-fails", "init-missing", "sidecar") if word in asked]
    beside = [_made("proxy", _FOREVER)] if "container" in asked else []
    spec = {**spec, "containers": [*spec["containers"], *beside]}
    if inits:
        spec["initContainers"] = [*(spec.get("initContainers") or []), *inits]
    return {**pod, "spec": spec}


def _made(name: str, seconds: str, **env: str) -> Json:
    values = {"SIM_SECONDS": seconds, "SIM_PULL_SECONDS": "0", "SIM_LOG_LINES": "0", **env}
    variables = [{"name": key, "value": value} for key, value in values.items()]
    container = {"name": name, "image": f"registry.example.com/{name}:1", "env": variables}
    return {**container, "terminationMessagePolicy": "FallbackToLogsOnError"}


_INITS: dict[str, Json] = {
    "init": _made("agent-init", "0.1"),
    "init-fails": _made("agent-init", "0.1", SIM_EXIT_CODE="7", SIM_LOG_TEXT="agent says no"),
    "init-missing": _made("agent-init", "0.1", SIM_OUTCOME=Outcome.IMAGE_MISSING),
    "sidecar": {**_made("mesh", _FOREVER), **_SIDECAR},
}
