"""Settings of an installation, from the environment: `GPUYARD_` and the field's name in capitals.

A wrong value stops the start with the setting's name. docs/operations.md lists them; a test holds it to this class.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from app.cluster_settings import DEFAULT_CLUSTER, ClusterSetting, parse_clusters
from app.domain.agents import AgentPolicy, InventorySource, SamplePolicy
from app.domain.dns_names import DNS_LABEL, DNS_NAME, LONGEST_DNS_NAME
from app.domain.gpus import DEFAULT_GPU_RESOURCES
from app.domain.lifecycle import Policy
from app.domain.namespaces import Namespaces
from app.domain.quantity import format_cpu, format_memory, parse_cpu, parse_memory
from app.domain.submission import Defaults
from app.domain.tolerations import DEFAULT_TOLERATIONS, Toleration

PREFIX = "GPUYARD_"
SERVICE_LINKS = ("GPUYARD_SERVICE_", "GPUYARD_PORT_")  # Kubernetes puts these beside a Service named gpuyard
# Other commands read these, those that talk to a service among them.
NOT_SETTINGS = frozenset(
    {
        "GPUYARD_NEW_PASSWORD",
        "GPUYARD_TEST_DATABASE_URL",
        "GPUYARD_SERVER",
        "GPUYARD_TOKEN",
        "GPUYARD_TOKEN_FILE",
        "GPUYARD_ORGANIZATION",
    }
)


class ConfigurationError(Exception):
    """The environment's settings can't be used; the message names each wrong one."""


class Settings(BaseSettings):
    """One field a setting. Durations are in seconds."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    database_url: str = Field(description="where data is kept: sqlite:///path or postgres://user@host/name")
    kubeconfig: Path | None = Field(
        None, description="kubeconfig file of the one cluster; without it `in_cluster` or `clusters` is needed"
    )
    in_cluster: bool = Field(default=False, description="use the pod's own service account instead of a kubeconfig")
    cluster: str = Field(
        DEFAULT_CLUSTER,
        pattern=rf"^{DNS_LABEL}$",
        description="what the one cluster of `kubeconfig` or `in_cluster` is called",
    )
    clusters: Annotated[tuple[ClusterSetting, ...], NoDecode] = Field(
        (), description="several clusters: name=/path/to/kubeconfig, #context after it, or name=in-cluster, by commas"
    )
    cluster_lost_after: int = Field(
        60, ge=10, description="how long a cluster may give no answer before its workloads are shown as unknown"
    )
    namespace: str = Field("gpuyard", pattern=rf"^{DNS_LABEL}$", description="where Jobs are made, in every cluster")
    namespace_per_organization: bool = Field(
        default=False, description="make an organization's Jobs in a namespace of its own, called after both"
    )
    pool_label: str = Field(
        "gpuyard.dev/organization",
        min_length=1,
        max_length=317,
        description="node label whose value is the owner's slug",
    )
    gpu_resources: Annotated[tuple[str, ...], NoDecode] = Field(
        DEFAULT_GPU_RESOURCES,
        description="resource names that count GPUs, MIG slices or shares, by commas; a final * stands for anything",
    )
    host: str = Field("127.0.0.1", description="address to listen on")
    port: int = Field(8000, ge=0, le=65535, description="port to listen on; 0 takes a free one")
    trusted_proxies: str = Field(
        "127.0.0.1,::1",
        description="addresses and networks of proxies whose X-Forwarded headers are believed, separated by commas",
    )
    cpu_per_gpu: str = Field(
        format_cpu(Defaults.cpu_millis_per_gpu), description="CPU of a workload that names none, per GPU"
    )
    memory_per_gpu: str = Field(
        format_memory(Defaults.memory_bytes_per_gpu), description="memory of a workload that names none, per GPU"
    )
    shared_memory_per_gpu: str = Field(
        format_memory(Defaults.shared_memory_bytes_per_gpu),
        description="size of /dev/shm of a workload that names none, per GPU, cut to its memory; 0: 64Mi for all",
    )
    tolerations: Annotated[tuple[Toleration, ...], NoDecode] = Field(
        DEFAULT_TOLERATIONS, description="taints that Jobs tolerate, as key[=value][:effect], separated by commas"
    )
    runtime_class: str = Field(
        "",
        pattern=rf"^({DNS_NAME})?$",
        max_length=LONGEST_DNS_NAME,
        description="runtime class of Jobs; empty: the node's default",
    )
    image_pull_secrets: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="names of the Secrets that images are pulled with, separated by commas"
    )
    pod_security: Literal["baseline", "restricted"] = Field(
        "baseline", description="restricted: containers may not be root and keep no capability"
    )
    orphan_grace: int = Field(
        Policy.orphan_grace_seconds,
        ge=0,
        description="how long a Job of ours that the database doesn't know stays; 0: for ever",
    )
    job_retention: int = Field(
        Policy.job_retention_seconds, ge=0, description="how long a Job that ended by itself stays in the cluster"
    )
    log_retention: int = Field(
        Policy.log_retention_seconds, ge=0, description="how long the log of an ended attempt is kept"
    )
    retry_base: int = Field(
        Policy.retry_base_seconds, ge=0, description="pause before another server is tried; doubled at each try"
    )
    termination_grace: int = Field(
        Policy.termination_grace_seconds,
        ge=0,
        le=3600,
        description="between SIGTERM and SIGKILL for a container that is stopped: preempted, cancelled, at its limit",
    )
    kubelet_slack: int = Field(
        Policy.kubelet_slack_seconds,
        ge=0,
        description="past the run limit given to the kubelet, before GPUYard stops it itself",
    )
    resync: int = Field(60, ge=1, description="how often everything is looked at again although nothing changed")
    fair_share_half_life: int = Field(
        7 * 24 * 3600,
        ge=0,
        description="after which what a project used weighs half as much; 0: it weighs nothing",
    )
    keep_server_after: int = Field(
        6 * 3600,
        ge=0,
        description="wait for GPUs of pods that are not GPUYard's after which a server is kept for it; 0: never",
    )
    reconcilers: int = Field(16, ge=1, le=256, description="workloads reconciled at the same time")
    inventory: InventorySource = Field(
        InventorySource.AGENT, description="agent: a server offers no GPU without a fresh report of its node agent"
    )
    agent_interval: int = Field(15, ge=1, le=3600, description="how often node agents shall report")
    agent_stale_after: int = Field(
        90, ge=2, description="silence of a node agent after which nothing is placed on its server"
    )
    agent_lost_after: int = Field(900, ge=2, description="silence of a node agent after which it is shown as lost")
    samples_full_for: int = Field(
        2 * 86400,
        ge=2 * 86400,
        description="how long samples of GPUs and pods are kept as they came; then one a minute",
    )
    samples_by_minute_for: int = Field(
        30 * 86400, ge=2 * 86400, description="how long one sample a minute is kept; then one in a quarter of an hour"
    )
    samples_kept_for: int = Field(
        365 * 86400, ge=2 * 86400, description="how long samples of GPUs and pods are kept at all"
    )
    gpu_history_kept_for: int = Field(365 * 86400, ge=86400, description="how long it is kept who had which GPU")
    rate_limit: int = Field(
        200, ge=0, description="GraphQL operations a second for each token, ten times that at once; 0: no limit"
    )
    stream_limit: int = Field(
        100, ge=0, description="subscriptions that a person, or a service's token, may have open at a time; 0: no limit"
    )
    introspection: bool = Field(default=True, description="whether the GraphQL schema may be asked for")
    log_format: Literal["console", "json"] = Field("console", description="how log lines look")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="the least that is logged")

    @field_validator("gpu_resources", "image_pull_secrets", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return _parts(value) if isinstance(value, str) else value

    @field_validator("tolerations", mode="before")
    @classmethod
    def _tolerations(cls, value: object) -> object:
        return tuple(map(Toleration.parse, _parts(value))) if isinstance(value, str) else value

    @field_validator("image_pull_secrets")
    @classmethod
    def _named(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if wrong := [name for name in value if len(name) > LONGEST_DNS_NAME or not re.fullmatch(DNS_NAME, name)]:
            msg = f"must name Secrets, separated by commas; {wrong[0][:80]!r} is no name of one"
            raise ValueError(msg)
        return value

    @field_validator("gpu_resources")
    @classmethod
    def _qualified(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value or any("/" not in name for name in value):
            msg = "must name extended resources such as nvidia.com/gpu, separated by commas"
            raise ValueError(msg)
        return value

    @field_validator("cpu_per_gpu")
    @classmethod
    def _cpu(cls, value: str) -> str:
        parse_cpu(value)
        return value

    @field_validator("memory_per_gpu", "shared_memory_per_gpu")
    @classmethod
    def _memory(cls, value: str) -> str:
        parse_memory(value)
        return value

    @field_validator("kubeconfig")
    @classmethod
    def _exists(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            msg = f"there is no file {value}"
            raise ValueError(msg)
        return value

    @field_validator("clusters", mode="before")
    @classmethod
    def _parse_clusters(cls, value: object) -> object:
        return parse_clusters(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Settings:
        if [self.kubeconfig is not None, self.in_cluster, bool(self.clusters)].count(True) != 1:
            msg = (
                f"set exactly one of {PREFIX}KUBECONFIG, {PREFIX}IN_CLUSTER=true and {PREFIX}CLUSTERS, "
                "so that it is known which cluster to talk to"
            )
            raise ValueError(msg)
        if self.clusters and "cluster" in self.model_fields_set:
            msg = f"{PREFIX}CLUSTERS names its clusters itself; unset {PREFIX}CLUSTER"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _patient(self) -> Settings:
        if not self.agent_interval < self.agent_stale_after <= self.agent_lost_after:
            msg = (
                f"{PREFIX}AGENT_INTERVAL must be less than {PREFIX}AGENT_STALE_AFTER, which must be at most "
                f"{PREFIX}AGENT_LOST_AFTER; they are {self.agent_interval}, {self.agent_stale_after} and "
                f"{self.agent_lost_after}"
            )
            raise ValueError(msg)
        return self

    @property
    def all_clusters(self) -> tuple[ClusterSetting, ...]:
        return self.clusters or (ClusterSetting(self.cluster, self.kubeconfig),)

    @property
    def oldest_cluster(self) -> str:
        """Whose the rows are that were written before clusters had names: of one named `default`, else the first."""
        names = [cluster.name for cluster in self.all_clusters]
        return DEFAULT_CLUSTER if DEFAULT_CLUSTER in names else names[0]

    @property
    def agents(self) -> AgentPolicy:
        return AgentPolicy(self.agent_interval, self.agent_stale_after, self.agent_lost_after)

    @property
    def samples(self) -> SamplePolicy:
        return SamplePolicy(
            self.samples_full_for, self.samples_by_minute_for, self.samples_kept_for, self.gpu_history_kept_for
        )

    @property
    def namespaces(self) -> Namespaces:
        return Namespaces(self.namespace, self.namespace_per_organization)

    @property
    def defaults(self) -> Defaults:
        cpu, memory = parse_cpu(self.cpu_per_gpu), parse_memory(self.memory_per_gpu)
        return Defaults(cpu, memory, parse_memory(self.shared_memory_per_gpu))

    @property
    def policy(self) -> Policy:
        return Policy(
            self.kubelet_slack,
            self.retry_base,
            self.job_retention,
            self.log_retention,
            self.orphan_grace,
            self.termination_grace,
        )


class DatabaseSettings(BaseSettings):
    """What the `admin` commands need: the database alone."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True)

    database_url: str


def _parts(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def load_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings of the environment. Raises ConfigurationError, also for a name that no setting has."""
    unknown = [_explain_unknown(name) for name in sorted(environment) if _is_unknown(name)]
    try:
        settings = Settings()
    except ValidationError as error:
        raise ConfigurationError("\n".join([*unknown, _explain(error)])) from None
    if unknown:
        raise ConfigurationError("\n".join(unknown))
    return settings


def settings_with(**given: Any) -> Settings:
    """The settings of the environment, but for those that are given. Raises ConfigurationError."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from None


def _is_unknown(name: str) -> bool:
    known = name.removeprefix(PREFIX).lower() in Settings.model_fields
    return name.startswith(PREFIX) and not known and name not in NOT_SETTINGS and not name.startswith(SERVICE_LINKS)


def _explain_unknown(name: str) -> str:
    names = [PREFIX + field.upper() for field in Settings.model_fields]
    close = difflib.get_close_matches(name, names, n=1)
    return f"{name}: there is no such setting" + (f"; did you mean {close[0]}?" if close else "")


def load_database_url() -> str:
    """The database alone. Raises ConfigurationError."""
    try:
        return DatabaseSettings().database_url
    except ValidationError as error:
        raise ConfigurationError(_explain(error)) from None


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        where = "_".join(str(part) for part in problem["loc"][:1]).upper()
        name = PREFIX + where if where else "settings"
        found = "" if problem["type"] == "missing" or not where else f" (found {str(problem['input'])[:80]!r})"
        lines.append(f"{name}: {problem['msg'].removeprefix('Value error, ')}{found}")
    return "\n".join(lines)
