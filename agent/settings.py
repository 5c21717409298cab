"""The agent's settings, from environment variables. docs/agent.md lists them."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")

KUBELET_SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
CGROUP_FOLDER = "/sys/fs/cgroup"
VARIABLES = {
    "GPUYARD_URL": "where the service is, such as https://gpuyard.example.com",
    "GPUYARD_AGENT_TOKEN": "this node's token",
    "GPUYARD_AGENT_TOKEN_FILE": "a file that holds the token instead; read for each report, so it may change",
    "GPUYARD_CA_FILE": "certificates to trust instead of the system's",
    "NODE_NAME": "the node's name in the cluster; the machine's host name where it is not set",
    "GPUYARD_AGENT_INTERVAL": "seconds between two looks, 1 to 300; the service may ask for another",
    "GPUYARD_AGENT_BUFFER": "how many samples to keep while the service is away",
    "GPUYARD_AGENT_METRICS": "where to serve /metrics and /healthz, such as 0.0.0.0:9410; nowhere if empty",
    "GPUYARD_KUBELET_SOCKET": "where the kubelet tells which pod has which GPU",
    "GPUYARD_CGROUP_FOLDER": "where the kernel's control groups are, which tell what pods use of processors and memory",
    "GPUYARD_LOG_LEVEL": "debug, info, warning or error",
}
_LEVELS = ("debug", "info", "warning", "error")


class SettingsError(Exception):
    """One line for each setting that is wrong."""


@dataclass(frozen=True)
class Settings:
    url: str
    token: Callable[[], str]  # reads it anew; raises OSError
    ca_file: Path | None = None
    node: str = ""
    interval: float = 15.0
    buffer: int = 20_000
    metrics: tuple[str, int] | None = None
    kubelet_socket: Path = Path(KUBELET_SOCKET)
    cgroup_folder: Path = Path(CGROUP_FOLDER)
    log_level: str = "info"


def settings_from(environment: Mapping[str, str]) -> Settings:
    """Raises SettingsError."""
    given = {name: value.strip() for name, value in environment.items() if value.strip()}
    wrong: list[str] = []

    def read(name: str, parse: Callable[[str], T], default: T) -> T:
        try:
            return parse(given[name]) if name in given else default
        except ValueError as error:
            wrong.append(f"{name} is {given[name]!r}: {error}")
            return default

    if "GPUYARD_URL" not in given:
        wrong.append(f"GPUYARD_URL is not set: {VARIABLES['GPUYARD_URL']}")
    settings = Settings(
        url=read("GPUYARD_URL", _url, ""),
        token=_token(given, wrong),
        ca_file=read("GPUYARD_CA_FILE", _file, None),
        node=given.get("NODE_NAME") or socket.gethostname().lower(),
        interval=read("GPUYARD_AGENT_INTERVAL", _interval, Settings.interval),
        buffer=read("GPUYARD_AGENT_BUFFER", _positive, Settings.buffer),
        metrics=read("GPUYARD_AGENT_METRICS", _address, None),
        kubelet_socket=Path(given.get("GPUYARD_KUBELET_SOCKET", KUBELET_SOCKET)),
        cgroup_folder=Path(given.get("GPUYARD_CGROUP_FOLDER", CGROUP_FOLDER)),
        log_level=read("GPUYARD_LOG_LEVEL", _level, Settings.log_level),
    )
    if wrong:
        raise SettingsError("\n".join(wrong))
    return settings


def _token(given: Mapping[str, str], wrong: list[str]) -> Callable[[], str]:
    token, file = given.get("GPUYARD_AGENT_TOKEN"), given.get("GPUYARD_AGENT_TOKEN_FILE")
    if (token is None) == (file is None):
        state = "neither is" if token is None else "both are"
        wrong.append(f"set one of GPUYARD_AGENT_TOKEN and GPUYARD_AGENT_TOKEN_FILE; {state} set")
    if file is not None:
        return lambda: Path(file).read_text().strip()
    return lambda: token or ""


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address such as https://gpuyard.example.com is wanted")
    return text.rstrip("/")


def _file(text: str) -> Path | None:
    if not Path(text).is_file():
        raise ValueError("there is no such file")
    return Path(text)


def _interval(text: str) -> float:
    seconds = float(text)
    if not 1 <= seconds <= 300:  # noqa: PLR2004 — the sentence says it
        raise ValueError("1 to 300 seconds are possible")
    return seconds


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("at least 1 is wanted")
    return number


def _address(text: str) -> tuple[str, int] | None:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError("an address and a port are wanted, such as 0.0.0.0:9410")
    return host.strip("[]"), int(port)


def _level(text: str) -> str:
    if text.lower() not in _LEVELS:
        raise ValueError(f"it is one of {', '.join(_LEVELS)}")
    return text.lower()
