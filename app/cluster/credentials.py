"""Where the cluster is and who we are there: a kubeconfig file or the pod's own service account → an Access.

Used by `connection`, which loads them again when they changed. Nothing here goes on as nobody: a user whose credentials
can't be had is an error. Left out: the merging of several kubeconfig files.
"""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml
from kubernetes.aio.client import Configuration
from kubernetes.aio.config.config_exception import ConfigException
from kubernetes.aio.config.incluster_config import InClusterConfigLoader
from kubernetes.aio.config.kube_config import KubeConfigLoader

from app.cluster.plugin import ask_plugin
from app.cluster.port import UnavailableError
from app.cluster.proxy import proxy_for

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN = "BearerToken"  # noqa: S105 — the library's name for it
_FILE_KEYS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True)
class ConnectionSettings:
    """`kubeconfig` None means: inside the cluster. `context` empty means the file's current one."""

    kubeconfig: Path | None = None
    context: str = ""
    service_account: Path = SERVICE_ACCOUNT


@dataclass(frozen=True)
class Access:
    """`certificate` and `key` (PEM) are the client's, empty without one; authorities are in the configuration.

    `files` are what it was read from, with their stamps. `expires_at` is None where nobody says.
    """

    configuration: Configuration
    files: dict[str, object]
    certificate: str = ""
    key: str = ""
    expires_at: datetime | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """Two that are equal here differ at most in their token, so that one connection serves both."""
        names = ("host", "proxy", "verify_ssl", "tls_server_name", "ca_cert_data")
        return (*(getattr(self.configuration, name) for name in names), self.certificate, self.key)

    @property
    def has_changed(self) -> bool:
        return any(_stamp(path) != stamp for path, stamp in self.files.items())

    @property
    def tokens(self) -> dict[str, str]:
        found: dict[str, str] = self.configuration.api_key
        return found


async def load(settings: ConnectionSettings) -> Access:
    """UnavailableError when there are none to be had, as they may appear later."""
    source = settings.kubeconfig or "the cluster's service account"
    configuration = Configuration()
    try:
        if settings.kubeconfig is None:
            access = await asyncio.to_thread(_of_service_account, settings.service_account, configuration)
        else:
            access = await _of_file(settings.kubeconfig, settings.context or None, configuration)
    except (ConfigException, OSError, ValueError, yaml.YAMLError) as error:
        raise UnavailableError(f"no way to the cluster from {source}: {error}") from error
    except (TypeError, KeyError, AttributeError) as error:  # the library reads on in whatever the YAML was
        raise UnavailableError(f"no way to the cluster from {source}: it isn't a kubeconfig ({error})") from error
    return access


def _of_service_account(folder: Path, configuration: Configuration) -> Access:
    token, authority = folder / "token", folder / "ca.crt"
    files = _stamped([str(token), str(authority)])  # before they are read: a change meanwhile shall be seen
    loader = InClusterConfigLoader(str(token), str(authority), try_refresh_token=False)  # type: ignore[no-untyped-call]
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    configuration.api_key[_TOKEN] = f"Bearer {token.read_text().strip()}"
    configuration.ssl_ca_cert, configuration.ca_cert_data = None, authority.read_text()
    return Access(_completed(configuration), files)


async def _of_file(path: Path, context: str | None, configuration: Configuration) -> Access:
    files = _stamped([str(path)])
    document = yaml.safe_load(await asyncio.to_thread(path.read_text))
    if not isinstance(document, dict):
        raise ConfigException("it isn't a kubeconfig")
    files |= _stamped(str(path.parent / name) for name in _named_files(document))
    loader = _Loader(document, context, str(path.parent))
    await loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    if token := configuration.api_key.get(_TOKEN):
        configuration.api_key[_TOKEN] = token.strip()
    user = loader.current_context["context"].get("user")
    if user and not configuration.api_key and not loader.certificate:
        raise ConfigException(f"user {user!r} has no usable credentials")
    configuration.ca_cert_data = loader.authority or None
    return Access(_completed(configuration), files, loader.certificate, loader.private_key, loader.expires_at)


class _Loader(KubeConfigLoader):
    """The library's, but for credential plugins, and for certificates: those it leaves in files under /tmp.

    It could not read them again once somebody has cleaned up there, and a killed process would leave the key behind.
    """

    def __init__(self, document: dict[str, Any], context: str | None, folder: str) -> None:
        super().__init__(document, active_context=context, config_base_path=folder)  # type: ignore[no-untyped-call]
        self.expires_at: datetime | None = None
        self.authority = self.certificate = self.private_key = ""

    async def load_from_exec_plugin(self) -> bool:
        user, cluster = self._user, self._cluster
        if user is None or cluster is None:  # as the library's types have it; it comes here for a user's plugin only
            raise ConfigException("it names no user or no cluster")
        given = await ask_plugin(user["exec"].value, cluster.value, str(self._config_base_path))
        self.expires_at = given.expires_at
        self.certificate, self.private_key = given.certificate, given.key
        if given.token:
            self.token = f"Bearer {given.token}"
        return True

    def _load_cluster_info(self) -> None:
        cluster = self._cluster.value if self._cluster else {}
        user = self._user.value if self._user else {}
        self.host = str(cluster["server"]).rstrip("/")
        self.verify_ssl = not cluster.get("insecure-skip-tls-verify")
        self.tls_server_name, self.proxy = cluster.get("tls-server-name"), cluster.get("proxy-url")
        self.authority = self._pem(cluster, "certificate-authority")
        if not self.certificate:
            self.certificate, self.private_key = self._pem(user, "client-certificate"), self._pem(user, "client-key")

    def _pem(self, described: dict[str, Any], name: str) -> str:
        if data := described.get(f"{name}-data"):
            return base64.b64decode(data).decode()
        path = described.get(name)
        return (Path(str(self._config_base_path)) / path).read_text() if path else ""


def _completed(configuration: Configuration) -> Configuration:
    configuration.proxy = configuration.proxy or proxy_for(configuration.host, os.environ)
    configuration.client_session_kwargs = {"trust_env": False}
    configuration.connection_pool_maxsize = 0  # no limit: those who follow logs must not keep a create waiting
    return configuration


def _named_files(document: dict[str, Any]) -> Iterator[str]:
    for section, inner in (("clusters", "cluster"), ("users", "user")):
        for entry in document.get(section) or ():
            described = entry.get(inner) or {}
            yield from (str(described[key]) for key in _FILE_KEYS if described.get(key))


def _stamped(paths: Any) -> dict[str, object]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> object:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
