"""What Prometheus is told, scraped over HTTP from the real endpoint."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from urllib.error import HTTPError

import pytest
from prometheus_client.parser import text_string_to_metric_families

from agent.endpoint import Endpoint
from agent.gpus import Gpus
from agent.look import Look
from agent.metrics import AgentMetrics, Delivery, NodeView
from agent.report import Holder
from tests.agent.machines import Machine, driver, gpu_uuid, h100, h100_with_mig, mig_uuid

DELIVERY = Delivery(delivered=12, failed=3, buffered=8, dropped=1, skew=0.25)
Scraped = dict[tuple[str, str], dict[str, float]]  # by UUID and MIG profile: values by name


class Served:
    """An endpoint whose look and complaint a test sets."""

    def __init__(self) -> None:
        self.look: Look | None = None
        self.complaint = ""
        metrics = AgentMetrics(lambda: [NodeView("gpu-1", self.look, DELIVERY)])
        self.endpoint = Endpoint(("127.0.0.1", 0), metrics, lambda: self.complaint)
        self.endpoint.start()

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.endpoint.server_address[1]}{path}") as answer:
            text: str = answer.read().decode()
        return text

    def samples(self) -> list[tuple[str, dict[str, str], float]]:
        families = text_string_to_metric_families(self.get("/metrics"))
        return [(sample.name, sample.labels, sample.value) for family in families for sample in family.samples]

    def labels(self, name: str, **wanted: str) -> dict[str, str]:
        """Of the one line with that name and those labels, without empty ones."""
        (found,) = [labels for known, labels, _ in self.samples() if known == name and wanted.items() <= labels.items()]
        return {label: value for label, value in found.items() if value}

    def values(self, **wanted: str) -> dict[str, float]:
        return {name: value for name, labels, value in self.samples() if wanted.items() <= labels.items()}


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.endpoint.close()


def test_a_gpu_has_the_metrics_and_labels_of_dcgm(served: Served, machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0)))
    served.look = replace(gpus.look(), holders=(Holder(gpu_uuid(0), "team-a", "train-0", container="main"),))
    assert served.values(UUID=gpu_uuid(0)) == {
        "DCGM_FI_DEV_GPU_UTIL": 87,
        "DCGM_FI_DEV_FB_USED": 12000,
        "DCGM_FI_DEV_FB_TOTAL": 81559,
        "DCGM_FI_DEV_POWER_USAGE": 512.3,
        "DCGM_FI_DEV_GPU_TEMP": 61,
        "DCGM_FI_DEV_SM_CLOCK": 1980,
        "DCGM_FI_DEV_XID_ERRORS": 0,
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": 0,
        "DCGM_FI_DEV_ROW_REMAP_FAILURE": 0,
        "gpuyard_agent_gpu_health": 0,
    }
    assert served.labels("DCGM_FI_DEV_GPU_UTIL") == {
        "gpu": "0",
        "UUID": gpu_uuid(0),
        "pci_bus_id": "00000000:1B:00.0",
        "device": "nvidia0",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": "gpu-1",
        "DCGM_FI_DRIVER_VERSION": "580.95.05",
        "namespace": "team-a",
        "pod": "train-0",
        "container": "main",
    }


def test_slices_are_told_under_their_gpu(served: Served, machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100_with_mig(0)))
    served.look = replace(gpus.look(), holders=(Holder(mig_uuid(0, 2), "a", "p"),))
    labels = served.labels("DCGM_FI_DEV_FB_USED", GPU_I_PROFILE="3g.40gb")
    assert (labels["UUID"], labels["GPU_I_ID"], labels["pod"]) == (gpu_uuid(0), "9", "p")
    assert served.values(GPU_I_PROFILE="3g.40gb") == {"DCGM_FI_DEV_FB_USED": 300}
    assert "DCGM_FI_DEV_GPU_UTIL" not in served.values(UUID=gpu_uuid(0))


def test_what_a_shared_gpu_does_is_nobodys_in_particular(served: Served, machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0), h100(1)))
    one = Holder(gpu_uuid(0), "a", "one", is_shared=True)
    both = (Holder(gpu_uuid(1), "a", "one"), Holder(gpu_uuid(1), "a", "two"))
    served.look = replace(gpus.look(), holders=(one, *both))
    assert "pod" not in served.labels("DCGM_FI_DEV_GPU_UTIL", UUID=gpu_uuid(0))
    assert "pod" not in served.labels("DCGM_FI_DEV_GPU_UTIL", UUID=gpu_uuid(1))


def test_a_lost_gpu_has_its_health_and_no_measures(served: Served, machine: Machine, gpus: Gpus) -> None:
    machine.write(driver(h100(0)))
    gpus.look()
    machine.set(gpu__0__error=15)
    served.look = gpus.look()
    values = served.values(UUID=gpu_uuid(0))
    assert values["gpuyard_agent_gpu_health"] == 2
    assert not values.keys() & {"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_ROW_REMAP_FAILURE"}


def test_the_agent_tells_of_itself(served: Served, machine: Machine, gpus: Gpus) -> None:
    machine.write({"init.error": 9})
    served.look = gpus.look()
    assert served.values(Hostname="gpu-1", state="no_driver") == {"gpuyard_agent_driver_state": 1}
    assert served.values(Hostname="gpu-1", state="ok") == {"gpuyard_agent_driver_state": 0}
    assert served.values(result="delivered") == {"gpuyard_agent_reports_total": 12}
    assert served.values(result="failed") == {"gpuyard_agent_reports_total": 3}
    own = served.values(Hostname="gpu-1")
    assert (own["gpuyard_agent_buffered_samples"], own["gpuyard_agent_clock_skew_seconds"]) == (8, 0.25)


def test_before_the_first_look_there_is_an_answer(served: Served) -> None:
    assert served.values(result="delivered") == {"gpuyard_agent_reports_total": 12}


def test_health_turns_bad_with_the_reason(served: Served) -> None:
    assert served.get("/healthz") == "ok\n"
    served.complaint = "the driver was upgraded"
    with pytest.raises(HTTPError) as caught:
        served.get("/healthz")
    with caught.value as error:
        assert (error.code, error.read()) == (503, b"the driver was upgraded\n")


def test_other_paths_are_not_there(served: Served) -> None:
    with pytest.raises(HTTPError) as caught:
        served.get("/")
    caught.value.close()
    assert caught.value.code == 404
