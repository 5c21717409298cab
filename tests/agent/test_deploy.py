"""deploy/agent.yaml and the systemd unit: few rights, and settings that the agent knows."""

from __future__ import annotations

import re
from typing import Any

import yaml

from agent.settings import CGROUP_FOLDER, KUBELET_SOCKET, VARIABLES, settings_from
from tests.house.tree import ROOT

DEPLOY = ROOT / "deploy"
NAMESPACE, DAEMON_SET = yaml.safe_load_all((DEPLOY / "agent.yaml").read_text())
POD: dict[str, Any] = DAEMON_SET["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
UNIT = (DEPLOY / "gpuyard-agent.service").read_text()


def test_nothing_of_the_host_but_two_folders_to_read() -> None:
    paths = [volume["hostPath"]["path"] for volume in POD["volumes"] if "hostPath" in volume]
    assert paths == [KUBELET_SOCKET.rpartition("/")[0], CGROUP_FOLDER]
    assert not {"hostPID", "hostNetwork", "hostIPC"} & POD.keys()
    assert all(mount["readOnly"] for mount in CONTAINER["volumeMounts"])
    assert POD["automountServiceAccountToken"] is False


def test_root_can_do_nothing_else() -> None:
    context = CONTAINER["securityContext"]
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
    assert "privileged" not in context


def test_no_gpu_is_taken_from_workloads() -> None:
    assert not any("nvidia.com" in name for kind in CONTAINER["resources"].values() for name in kind)
    assert POD["nodeSelector"] == {"nvidia.com/gpu.present": "true"}
    assert POD["tolerations"] == [{"operator": "Exists"}]


def test_settings_of_the_daemon_set_are_right() -> None:
    given = {each["name"]: each.get("value", "gpu-1") for each in CONTAINER["env"]}
    assert {name for name in given if not name.startswith("NVIDIA_")} <= VARIABLES.keys()
    settings = settings_from(given)
    assert (settings.node, settings.metrics) == ("gpu-1", ("0.0.0.0", 9410))
    mounts = {mount["name"]: mount["mountPath"] for mount in CONTAINER["volumeMounts"]}
    assert str(settings.cgroup_folder) == mounts["cgroup"]
    assert CONTAINER["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_settings_of_the_unit_are_known() -> None:
    assert set(re.findall(r"(GPUYARD_\w+)=", UNIT)) <= VARIABLES.keys()
    assert "ExecStart=/opt/gpuyard/bin/python -m agent run\n" in UNIT
