"""Credentials from an exec plugin that a kubeconfig names (EKS, GKE, AKS, OIDC log-ins). Called by `credentials`.

The client library's own way is left out: it waits for ever, lets a plugin ask questions on our terminal, logs a failure
and goes on as nobody, and forgets when a credential ends. Contract: Kubernetes' client-go credential plugins.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kubernetes.aio.config.config_exception import ConfigException

from app.domain.wording import clip

PLUGIN_SECONDS = 30.0
_MOST_OUTPUT = 1024 * 1024
_REAP_SECONDS = 1.0


@dataclass(frozen=True)
class PluginCredential:
    """A token, or a certificate with its key (PEM). `expires_at` is None where the plugin doesn't say."""

    token: str = ""
    certificate: str = ""
    key: str = ""
    expires_at: datetime | None = None


async def ask_plugin(
    execute: dict[str, Any], cluster: dict[str, Any], folder: str, seconds: float = PLUGIN_SECONDS
) -> PluginCredential:
    """`execute` and `cluster` are from the kubeconfig in `folder`. ConfigException says what went wrong."""
    command = str(execute.get("command") or "")
    try:
        output = await _run(_argv(execute, folder), _environment(execute, cluster), seconds)
        return _credential(output)
    except (OSError, ValueError, TimeoutError) as error:
        what = f"it gave no answer within {seconds:g} s" if isinstance(error, TimeoutError) else str(error)
        raise ConfigException(f"credential plugin {command!r}: {what}") from None


def _argv(execute: dict[str, Any], folder: str) -> list[str]:
    command = str(execute.get("command") or "")
    if os.sep in command:  # a relative path is meant from where the kubeconfig is
        command = str(Path(folder) / command)
    return [command, *map(str, execute.get("args") or ())]


def _environment(execute: dict[str, Any], cluster: dict[str, Any]) -> dict[str, str]:
    spec: dict[str, Any] = {"interactive": False}
    if execute.get("provideClusterInfo"):
        spec["cluster"] = {name: cluster[name] for name in ("server", "certificate-authority-data") if name in cluster}
    asked = {"apiVersion": execute.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
    added = {str(item["name"]): str(item["value"]) for item in execute.get("env") or ()}
    return {**os.environ, **added, "KUBERNETES_EXEC_INFO": json.dumps(asked)}


async def _run(argv: list[str], environment: dict[str, str], seconds: float) -> bytes:
    process = await asyncio.create_subprocess_exec(
        *argv,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # so that what it started ends with it
    )
    try:
        async with asyncio.timeout(seconds):
            output, complaints = await process.communicate()
    finally:
        await _end(process)
    if process.returncode:
        raise ValueError(f"it ended with code {process.returncode}: {clip(complaints.decode(errors='replace'))}")
    return output[:_MOST_OUTPUT]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Whatever of its group is left; its end is taken note of, or it would stay as a zombie with its pipes open."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with suppress(TimeoutError):  # what has left the group may still hold the pipes
        async with asyncio.timeout(_REAP_SECONDS):
            await process.wait()


def _credential(output: bytes) -> PluginCredential:
    try:
        status = json.loads(output)["status"]
        found = PluginCredential(
            token=_text(status, "token").strip(),
            certificate=_text(status, "clientCertificateData"),
            key=_text(status, "clientKeyData"),
            expires_at=_moment(_text(status, "expirationTimestamp")),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("it did not print an ExecCredential") from None
    if not found.token and not (found.certificate and found.key):
        raise ValueError("its ExecCredential has neither a token nor a certificate with its key")
    return found


def _text(status: dict[str, Any], name: str) -> str:
    value = status.get(name) or ""
    if isinstance(value, str):
        return value
    raise TypeError(name)


def _moment(text: str) -> datetime | None:
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
