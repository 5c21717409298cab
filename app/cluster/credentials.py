"""Where the cluster is and who we are there: a kubeconfig file or the pod's own service account → an Access.

Used by `connection`, which loads them again when they changed. Nothing here goes on as nobody: a user whose credentials
can't be had is an error. Left out: the merging of several kubeconfig files.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
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
_SECRETS_IN = ("ssl_ca_cert", "cert_file", "key_file")
MOST_CONNECTIONS = 256  # at the same time: three watches, what reconciling asks, and each log that is followed


@dataclass(frozen=True)
class ConnectionSettings:
    """`kubeconfig` None means: inside the cluster. `context` empty means the file's current one."""

    kubeconfig: Path | None = None
    context: str = ""
    service_account: Path = SERVICE_ACCOUNT


@dataclass(frozen=True)
class Access:
    """`identity`: two that are equal differ at most in their token, so that one connection serves both.

    `files` are what it was read from, with their stamps. `expires_at` is None where nobody says.
    """

    configuration: Configuration
    identity: str
    files: dict[str, object]
    expires_at: datetime | None = None

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
    configuration = Configuration(connection_pool_maxsize=MOST_CONNECTIONS)
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
    return _access(configuration, files)


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
    if user and not configuration.api_key and not configuration.cert_file:
        raise ConfigException(f"user {user!r} has no usable credentials")
    return _access(configuration, files, loader.expires_at)


class _Loader(KubeConfigLoader):
    """The library's, but for credential plugins."""

    def __init__(self, document: dict[str, Any], context: str | None, folder: str) -> None:
        super().__init__(document, active_context=context, config_base_path=folder)  # type: ignore[no-untyped-call]
        self.expires_at: datetime | None = None

    async def load_from_exec_plugin(self) -> bool:
        folder = self._get_base_path(None)  # type: ignore[no-untyped-call]
        user, cluster = self._user, self._cluster
        if user is None or cluster is None:  # as the library's types have it; it comes here for a user's plugin only
            raise ConfigException("it names no user or no cluster")
        given = await ask_plugin(user["exec"].value, cluster.value, folder)
        self.expires_at = given.expires_at
        if given.token:
            self.token = f"Bearer {given.token}"
        if given.certificate:  # as if they stood in the file: the library puts them where TLS can read them
            user.value["client-certificate-data"] = base64.b64encode(given.certificate.encode()).decode()
            user.value["client-key-data"] = base64.b64encode(given.key.encode()).decode()
        return True


def _access(configuration: Configuration, files: dict[str, object], expires_at: datetime | None = None) -> Access:
    configuration.proxy = configuration.proxy or proxy_for(configuration.host, os.environ)
    configuration.client_session_kwargs = {"trust_env": False}
    configuration.connection_pool_maxsize = 0  # no limit: those who follow logs must not keep a create waiting
    return Access(configuration, _identity(configuration), files, expires_at)


def _identity(configuration: Configuration) -> str:
    """All that a connection is made from, the contents of certificates included."""
    digest = hashlib.sha256()
    for name in ("host", "proxy", "verify_ssl", "tls_server_name"):
        digest.update(repr(getattr(configuration, name)).encode())
    for name in _SECRETS_IN:
        path = getattr(configuration, name)
        digest.update(Path(path).read_bytes() if path else b"-")
    return digest.hexdigest()


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
