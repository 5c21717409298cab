"""Settings from the environment: what is wrong is named, at the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from app.cluster_settings import ClusterSetting
from app.config import ConfigurationError, Settings, load_database_url, load_settings, settings_with
from app.domain.gpus import DEFAULT_GPU_RESOURCES
from app.domain.tolerations import Toleration


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """The least that works."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}")
    monkeypatch.setenv("GPUYARD_DATABASE_URL", "sqlite:///x.db")
    monkeypatch.setenv("GPUYARD_KUBECONFIG", str(kubeconfig))
    return monkeypatch


def test_the_least_that_works(environment: pytest.MonkeyPatch):
    settings = load_settings()
    assert (settings.namespace, settings.gpu_resources, settings.port) == ("gpuyard", DEFAULT_GPU_RESOURCES, 8000)
    assert settings.defaults.cpu_millis_per_gpu == 4000


def test_resource_names_are_separated_by_commas(environment: pytest.MonkeyPatch):
    environment.setenv("GPUYARD_GPU_RESOURCES", "nvidia.com/gpu, amd.com/gpu")
    assert load_settings().gpu_resources == ("nvidia.com/gpu", "amd.com/gpu")


def test_what_pods_get(environment: pytest.MonkeyPatch):
    environment.setenv("GPUYARD_TOLERATIONS", "nvidia.com/gpu:NoSchedule, dedicated=gpu")
    environment.setenv("GPUYARD_IMAGE_PULL_SECRETS", "registry-a,registry-b")
    environment.setenv("GPUYARD_RUNTIME_CLASS", "nvidia")
    environment.setenv("GPUYARD_SHARED_MEMORY_PER_GPU", "1Gi")
    settings = load_settings()
    assert settings.tolerations == (Toleration("nvidia.com/gpu", "NoSchedule"), Toleration("dedicated", "", "gpu"))
    assert (settings.image_pull_secrets, settings.runtime_class) == (("registry-a", "registry-b"), "nvidia")
    assert settings.defaults.shared_memory_bytes_per_gpu == 2**30


def test_nothing_may_be_tolerated_at_all(environment: pytest.MonkeyPatch):
    environment.setenv("GPUYARD_TOLERATIONS", "")
    assert load_settings().tolerations == ()


WRONG = [
    ("GPUYARD_TOLERATIONS", "a:Never", "GPUYARD_TOLERATIONS: 'a:Never' is not key[=value][:effect]"),
    ("GPUYARD_IMAGE_PULL_SECRETS", "a,No Name", "GPUYARD_IMAGE_PULL_SECRETS: must name Secrets, separated by commas"),
    ("GPUYARD_RUNTIME_CLASS", "No", "GPUYARD_RUNTIME_CLASS: String should match pattern"),
    ("GPUYARD_POD_SECURITY", "none", "GPUYARD_POD_SECURITY: Input should be 'baseline' or 'restricted'"),
    ("GPUYARD_SHARED_MEMORY_PER_GPU", "half", "GPUYARD_SHARED_MEMORY_PER_GPU: 'half' is not a quantity"),
    ("GPUYARD_PORT", "http", "GPUYARD_PORT: Input should be a valid integer"),
    ("GPUYARD_PORT", "70000", "GPUYARD_PORT: Input should be less than or equal to 65535"),
    ("GPUYARD_KUBECONFIG", "/no/such/file", "GPUYARD_KUBECONFIG: there is no file /no/such/file"),
    ("GPUYARD_NAMESPACE", "Not A Name", "GPUYARD_NAMESPACE: String should match pattern"),
    ("GPUYARD_GPU_RESOURCES", "gpu", "GPUYARD_GPU_RESOURCES: must name extended resources"),
    ("GPUYARD_MEMORY_PER_GPU", "16 gigs", "GPUYARD_MEMORY_PER_GPU: '16 gigs' is not a quantity"),
    (
        "GPUYARD_IN_CLUSTER",
        "true",
        "set exactly one of GPUYARD_KUBECONFIG, GPUYARD_IN_CLUSTER=true and GPUYARD_CLUSTERS",
    ),
    ("GPUYARD_NAMSPACE", "jobs", "GPUYARD_NAMSPACE: there is no such setting; did you mean GPUYARD_NAMESPACE?"),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG, ids=[f"{w[0]}={w[1]}" for w in WRONG])
def test_what_is_wrong_is_named(environment: pytest.MonkeyPatch, name: str, value: str, words: str):
    environment.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert words in str(caught.value)


def test_every_wrong_setting_is_named_at_once(environment: pytest.MonkeyPatch):
    environment.setenv("GPUYARD_PORT", "x")
    environment.delenv("GPUYARD_DATABASE_URL")
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert "GPUYARD_PORT" in str(caught.value)
    assert "GPUYARD_DATABASE_URL: Field required" in str(caught.value)
    with pytest.raises(ConfigurationError, match="GPUYARD_DATABASE_URL"):
        load_database_url()


@pytest.fixture
def clusters(environment: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Settings]:
    """What `GPUYARD_CLUSTERS` means, where `FILE` stands for a kubeconfig that is there."""
    environment.delenv("GPUYARD_KUBECONFIG")

    def load(text: str) -> Settings:
        environment.setenv("GPUYARD_CLUSTERS", text.replace("FILE", str(tmp_path / "kubeconfig")))
        return load_settings()

    return load


def test_several_clusters_are_named(clusters: Callable[[str], Settings], tmp_path: Path):
    path = tmp_path / "kubeconfig"
    assert clusters("berlin=FILE, munich=FILE#other ,local=in-cluster,").all_clusters == (
        ClusterSetting("berlin", path),
        ClusterSetting("munich", path, "other"),
        ClusterSetting("local"),
    )


@pytest.mark.parametrize(("text", "oldest"), [("b=FILE,a=FILE", "b"), ("a=FILE,default=FILE", "default")])
def test_whose_the_older_rows_are(clusters: Callable[[str], Settings], text: str, oldest: str):
    assert clusters(text).oldest_cluster == oldest


WRONG_CLUSTERS = [
    ("berlin", "'berlin' names no cluster; write name=/path/to/kubeconfig"),
    ("berlin=", "'berlin=' names no cluster"),
    ("Berlin_1=FILE", "'Berlin_1' is no name for a cluster"),
    ("=FILE", "'' is no name for a cluster"),
    ("berlin=/no/such/file", "there is no file /no/such/file for cluster berlin"),
    ("a=FILE,b=FILE,a=in-cluster", "the name a is given to several clusters"),
    ("a=in-cluster,b=in-cluster", "only one cluster can be in-cluster"),
    (",", "set exactly one of GPUYARD_KUBECONFIG"),
]


@pytest.mark.parametrize(("text", "words"), WRONG_CLUSTERS, ids=[case[0] for case in WRONG_CLUSTERS])
def test_what_is_wrong_with_the_clusters_is_named(clusters: Callable[[str], Settings], text: str, words: str):
    with pytest.raises(ConfigurationError) as caught:
        clusters(text)
    assert words in str(caught.value)


def test_one_cluster_has_a_name_of_its_own_choice(environment: pytest.MonkeyPatch):
    assert [cluster.name for cluster in load_settings().all_clusters] == ["default"]
    environment.setenv("GPUYARD_CLUSTER", "berlin")
    assert (load_settings().all_clusters[0].name, load_settings().oldest_cluster) == ("berlin", "berlin")


def test_ways_to_name_clusters_are_not_mixed(environment: pytest.MonkeyPatch, clusters: Callable[[str], Settings]):
    environment.setenv("GPUYARD_IN_CLUSTER", "true")
    with pytest.raises(ConfigurationError, match="set exactly one of"):
        clusters("a=FILE")
    environment.setenv("GPUYARD_IN_CLUSTER", "false")
    environment.setenv("GPUYARD_CLUSTER", "berlin")
    with pytest.raises(ConfigurationError, match="unset GPUYARD_CLUSTER"):
        clusters("a=FILE")


def test_what_is_given_beats_the_environment_and_is_checked_with_it(environment: pytest.MonkeyPatch):
    environment.setenv("GPUYARD_PORT", "1")
    assert settings_with(port=2).port == 2
    environment.setenv("GPUYARD_RESYNC", "soon")
    with pytest.raises(ConfigurationError, match="GPUYARD_RESYNC"):
        settings_with(port=2)
