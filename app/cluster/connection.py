"""How the cluster is reached: from a kubeconfig file, or as a pod with the cluster's own service account.

Used by `transport`. The client library loads credentials once; here they are loaded anew after the cluster refused
them, which covers expired plugin tokens, rotated token files and an edited kubeconfig alike. Left out: the merging of
several kubeconfig files.
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import structlog
import yaml
from kubernetes.aio.client import ApiClient, Configuration
from kubernetes.aio.config import load_incluster_config, load_kube_config
from kubernetes.aio.config.config_exception import ConfigException

from app.cluster.port import UnavailableError

log = structlog.get_logger(__name__)

RENEWAL_SECONDS = 30.0  # credentials that are simply wrong shall not be loaded with every call
USER_AGENT = "gpuyard"


@dataclass(frozen=True)
class ConnectionSettings:
    """`kubeconfig` None means: inside the cluster. `context` empty means the file's current one."""

    kubeconfig: Path | None = None
    context: str = ""


class Connection:
    """One client for everybody, made at first use and replaced when its credentials are no longer accepted."""

    def __init__(self, settings: ConnectionSettings, renewal_seconds: float = RENEWAL_SECONDS) -> None:
        self._settings = settings
        self._renewal_seconds = renewal_seconds
        self._lock = asyncio.Lock()
        self._api: ApiClient | None = None
        self._is_stale = False
        self._opened_at = 0.0

    async def api(self) -> ApiClient:
        async with self._lock:
            if self._api is None or self._is_stale:
                self._api = await self._open()
            return self._api

    def distrust(self) -> None:
        """The cluster did not accept our credentials: load them again before the next call."""
        if time.monotonic() - self._opened_at > self._renewal_seconds:
            self._is_stale = True

    async def close(self) -> None:
        if self._api is not None:
            await self._api.close()  # type: ignore[no-untyped-call]
            self._api = None

    async def _open(self) -> ApiClient:
        configuration = await load(self._settings)
        await self.close()  # of an older client: its watches end, and begin anew with the new one
        api = ApiClient(configuration)
        api.user_agent = USER_AGENT
        self._is_stale, self._opened_at = False, time.monotonic()
        log.info("cluster.connected", host=configuration.host)
        return api


async def load(settings: ConnectionSettings) -> Configuration:
    """The client's settings. UnavailableError when there are none to be had, as they may appear later."""
    configuration = Configuration()
    try:
        if settings.kubeconfig is None:
            load_incluster_config(configuration)  # type: ignore[no-untyped-call]
        else:
            await _load_file(settings.kubeconfig, settings.context or None, configuration)
    except (ConfigException, OSError, ValueError, yaml.YAMLError) as error:
        source = settings.kubeconfig or "the cluster's service account"
        raise UnavailableError(f"no way to the cluster from {source}: {error}") from error
    if _is_loopback(configuration.host):
        # As Go's clients do; the library would ask the environment's proxy even for this machine.
        configuration.client_session_kwargs = {"trust_env": False}
    return configuration


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def _load_file(path: Path, context: str | None, configuration: Configuration) -> None:
    await asyncio.to_thread(path.read_bytes)  # the library would only warn of a file that isn't there
    try:
        loader = await load_kube_config(  # type: ignore[no-untyped-call]
            str(path), context, configuration, persist_config=False
        )
    except (TypeError, KeyError, AttributeError) as error:  # the library reads on in whatever the YAML was
        raise ConfigException(f"it isn't a kubeconfig ({error})") from error
    user = loader.current_context["context"].get("user")
    # The library only logs a credential plugin that fails, and would go on as nobody.
    if user and not configuration.api_key and not configuration.cert_file:
        raise ConfigException(f"user {user!r} has no usable credentials (a failing plugin says why in the log)")
