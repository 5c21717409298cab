"""Where credentials come from, and that nobody goes out without them."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from app.cluster.connection import Connection
from app.cluster.credentials import ConnectionSettings, load
from app.cluster.kubernetes_port import KubernetesPort, PortSettings, open_port
from app.cluster.port import Kind, UnavailableError
from app.cluster.transport import Transport
from tests.cluster.builders import NAMESPACE
from tests.cluster.conftest import write_kubeconfig
from tests.cluster.scripted_api import ScriptedApi, answer, failure

EMPTY = answer({"metadata": {"resourceVersion": "1"}, "items": []})


def opened(path: Path | None) -> KubernetesPort:
    return open_port(ConnectionSettings(path), PortSettings(NAMESPACE))


def plugin(code: str) -> dict[str, object]:
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"apiVersion": version, "command": sys.executable, "args": ["-c", code]}}


def token_plugin(token: str) -> dict[str, object]:
    credential = f'"kind": "ExecCredential", "status": {{"token": "{token}"}}'
    return plugin(f"""print('{{"apiVersion": "client.authentication.k8s.io/v1", {credential}}}')""")


async def test_a_plugins_token_is_used(api: ScriptedApi, tmp_path: Path):
    api.on("GET", "/api/v1/nodes", EMPTY)
    port = opened(write_kubeconfig(tmp_path / "config", api.url, token_plugin("from-plugin")))
    await port.list_all(Kind.NODES)
    assert api.requests[0].headers["authorization"] == "Bearer from-plugin"
    await port.close()


@pytest.mark.parametrize("code", ["raise SystemExit(1)", "print('no json')"])
async def test_a_failing_plugin_does_not_go_out_as_nobody(api: ScriptedApi, tmp_path: Path, code: str):
    port = opened(write_kubeconfig(tmp_path / "config", api.url, plugin(code)))
    with pytest.raises(UnavailableError, match="credential plugin"):
        await port.list_all(Kind.NODES)
    assert api.requests == []
    await port.close()


@pytest.mark.parametrize("content", [None, "", "{[", "kind: Config"])
async def test_a_file_that_says_nothing(tmp_path: Path, content: str | None):
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    port = opened(path)
    with pytest.raises(UnavailableError, match=r"no way to the cluster from .*config"):
        await port.list_all(Kind.NODES)


async def test_outside_a_cluster_there_is_no_service_account():
    with pytest.raises(UnavailableError, match="service account"):
        await opened(None).list_all(Kind.NODES)


async def test_nobody_listens(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = opened(
            write_kubeconfig(tmp_path / "config", f"http://127.0.0.1:{free.getsockname()[1]}", {"token": "x"})
        )
        with pytest.raises(UnavailableError, match="can't be reached"):
            await port.list_all(Kind.NODES)
    await port.close()


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://127.0.0.1:1", None),
        ("https://[::1]:1", None),
        ("http://localhost", None),
        ("https://10.0.0.1", None),
        ("https://192.0.2.1", "http://proxy:3128"),
    ],
)
async def test_the_environment_names_the_proxy(
    tmp_path: Path, url: str, proxy: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HTTPS_PROXY", "proxy:3128")
    monkeypatch.setenv("HTTP_PROXY", "proxy:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
    found = await load(ConnectionSettings(write_kubeconfig(tmp_path / "config", url, {"token": "x"})))
    assert found.configuration.proxy == proxy
    assert found.configuration.client_session_kwargs == {"trust_env": False}


async def test_refused_credentials_are_loaded_again(api: ScriptedApi, tmp_path: Path):
    api.on("GET", "/api/v1/nodes", failure(401, "Unauthorized"), EMPTY)
    path = write_kubeconfig(tmp_path / "config", api.url, {"token": "old"})
    link = Connection(ConnectionSettings(path), renewal_seconds=0)
    await link.api()
    write_kubeconfig(path, api.url, {"token": "new"})
    port = KubernetesPort(Transport(link), PortSettings(NAMESPACE))
    await port.list_all(Kind.NODES)
    assert [r.headers["authorization"] for r in api.requests] == ["Bearer old", "Bearer new"]
    await port.close()
