"""Credentials, certificates and addresses that change while we are connected. Nobody ever goes out as nobody."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.cluster.connection import Connection
from app.cluster.credentials import ConnectionSettings
from app.cluster.kubernetes_port import KubernetesPort, PortSettings
from app.cluster.port import Kind, UnavailableError
from app.cluster.transport import Transport
from app.simcluster.certificate import make_certificate
from tests.cluster.builders import NAMESPACE, node_json
from tests.cluster.conftest import write_kubeconfig
from tests.cluster.scripted_api import ScriptedApi, answer, failure, scripted_api

NODES = "/api/v1/nodes"
EMPTY = answer({"metadata": {"resourceVersion": "1"}, "items": []})
VERSION = "client.authentication.k8s.io/v1"


@asynccontextmanager
async def connected(settings: ConnectionSettings, **patience: float) -> AsyncIterator[KubernetesPort]:
    patience = {"renewal_seconds": 0, "look_seconds": 0, **patience}
    link = Connection(settings, patience["renewal_seconds"], patience["look_seconds"])
    port = KubernetesPort(Transport(link), PortSettings(NAMESPACE))
    try:
        yield port
    finally:
        await port.close()


def who_came(api: ScriptedApi) -> list[str]:
    return [request.headers.get("authorization", "nobody") for request in api.requests]


@dataclass
class Secure:
    """An HTTPS server whose certificate and authority can be made anew."""

    folder: Path
    authority: Path = field(init=False)

    def __post_init__(self) -> None:
        self.authority = self.folder / "ca.crt"

    def context(self) -> ssl.SSLContext:
        made = make_certificate(datetime.now(UTC))
        self.authority.write_text(made.authority)
        (self.folder / "server.pem").write_text(made.server)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.folder / "server.pem")
        return tls


def write_secure(path: Path, url: str, authority: str, user: dict[str, object] | None = None) -> Path:
    write_kubeconfig(path, url, user or {"token": "sesame"})
    content = yaml.safe_load(path.read_text())
    content["clusters"][0]["cluster"]["certificate-authority"] = authority
    path.write_text(yaml.safe_dump(content))
    return path


async def test_a_token_file_is_read_again(api: ScriptedApi, tmp_path: Path):
    api.on("GET", NODES, EMPTY)
    (tmp_path / "token").write_text("first\n")
    path = write_kubeconfig(tmp_path / "config", api.url, {"tokenFile": "token"})
    async with connected(ConnectionSettings(path)) as port:
        await port.list_all(Kind.NODES)
        (tmp_path / "token").write_text("second one\n")
        await port.list_all(Kind.NODES)
    assert who_came(api) == ["Bearer first", "Bearer second one"]


async def test_a_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Kubelets replace the file by turning a symbolic link."""
    for name, token in (("1", "first"), ("2", "second")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(token)
    (tmp_path / "data").symlink_to("1")
    (tmp_path / "token").symlink_to("data/token")
    async with scripted_api(Secure(tmp_path).context()) as api:
        api.on("GET", NODES, EMPTY)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        async with connected(ConnectionSettings(service_account=tmp_path)) as port:
            await port.list_all(Kind.NODES)
            (tmp_path / "new").symlink_to("2")
            (tmp_path / "new").rename(tmp_path / "data")
            await port.list_all(Kind.NODES)
            (tmp_path / "data" / "token").write_text("")  # caught in the middle of being written
            await port.list_all(Kind.NODES)
    assert who_came(api) == ["Bearer first", "Bearer second", "Bearer second"]


async def test_an_empty_service_account_is_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async with scripted_api(Secure(tmp_path).context()) as api:
        (tmp_path / "token").write_text("")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(api.port))
        async with connected(ConnectionSettings(service_account=tmp_path)) as port:
            with pytest.raises(UnavailableError, match="service account"):
                await port.list_all(Kind.NODES)
        assert api.requests == []


async def test_a_kubeconfig_that_leads_elsewhere_now(api: ScriptedApi, tmp_path: Path):
    """The connections to the old address go on for a while: what was begun there may end there."""
    api.on("GET", NODES, EMPTY)
    path = write_kubeconfig(tmp_path / "config", api.url, {"token": "old"})
    async with scripted_api() as other, connected(ConnectionSettings(path)) as port:
        other.on("GET", NODES, EMPTY)
        await port.list_all(Kind.NODES)
        write_kubeconfig(path, other.url, {"token": "new"})
        await port.list_all(Kind.NODES)
        assert (who_came(api), who_came(other)) == (["Bearer old"], ["Bearer new"])


async def test_a_kubeconfig_that_is_broken_for_a_moment(api: ScriptedApi, tmp_path: Path):
    api.on("GET", NODES, EMPTY)
    path = write_kubeconfig(tmp_path / "config", api.url, {"token": "good"})
    async with connected(ConnectionSettings(path)) as port:
        await port.list_all(Kind.NODES)
        for content in ("", "{[", None):
            path.write_text(content) if content is not None else path.unlink()
            await port.list_all(Kind.NODES)
    assert who_came(api) == ["Bearer good"] * 4


async def test_a_server_with_a_new_certificate_of_a_new_authority(tmp_path: Path):
    """Refused until the new authority is at hand, then trusted without a restart."""
    secure = Secure(tmp_path)
    async with scripted_api(secure.context()) as api:
        api.on("GET", NODES, EMPTY)
        port_number, path = api.port, write_secure(tmp_path / "config", api.url, "trusted.pem")
        (tmp_path / "trusted.pem").write_bytes(secure.authority.read_bytes())
        link = connected(ConnectionSettings(path))
        port = await link.__aenter__()
        await port.list_all(Kind.NODES)
    async with scripted_api(secure.context(), port_number) as api:
        api.on("GET", NODES, EMPTY)
        with pytest.raises(UnavailableError, match="certificate"):
            await port.list_all(Kind.NODES)
        (tmp_path / "trusted.pem").write_bytes(secure.authority.read_bytes())
        await port.list_all(Kind.NODES)
        await link.__aexit__(None, None, None)
        assert who_came(api) == ["Bearer sesame"]


def client_certificate(name: str) -> tuple[str, str]:
    """A certificate that stands for itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    day = timedelta(days=1)
    made = x509.CertificateBuilder(who, who, key.public_key(), 1, datetime.now(UTC) - day, datetime.now(UTC) + day)
    certificate = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.decode(), key.private_bytes(*encoding).decode()


@pytest.mark.parametrize("source", ["files", "data", "plugin"])
async def test_a_clients_certificate_and_its_key_stays_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
):
    (place := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    certificate, key = client_certificate("operator")
    (tmp_path / "c.pem").write_text(certificate)
    (tmp_path / "k.pem").write_text(key)
    status = json.dumps({"status": {"clientCertificateData": certificate, "clientKeyData": key}})
    users: dict[str, dict[str, object]] = {
        "files": {"client-certificate": "c.pem", "client-key": "k.pem"},
        "data": {"client-certificate-data": base64_of(certificate), "client-key-data": base64_of(key)},
        "plugin": {"exec": {"apiVersion": VERSION, "command": sys.executable, "args": ["-c", f"print({status!r})"]}},
    }
    tls = (secure := Secure(tmp_path)).context()
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(tmp_path / "c.pem")
    async with scripted_api(tls) as api:
        api.on("GET", NODES, EMPTY)
        path = write_secure(tmp_path / "config", api.url, str(secure.authority), users[source])
        async with connected(ConnectionSettings(path)) as port:
            await port.list_all(Kind.NODES)
            assert list(place.iterdir()) == []
    assert who_came(api) == ["nobody"]  # by header; without the certificate the connection would have been refused


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_an_authority_that_is_none(api: ScriptedApi, tmp_path: Path):
    (tmp_path / "ca").write_text("no certificate")
    path = write_secure(tmp_path / "config", "https://127.0.0.1:1", "ca")
    async with connected(ConnectionSettings(path)) as port:
        with pytest.raises(UnavailableError, match="certificates can't be used"):
            await port.list_all(Kind.NODES)


def counting_plugin(folder: Path, *, seconds: float, code: str = "") -> dict[str, Any]:
    """Gives token-1, token-2, …, each good for `seconds`. `code` runs before; `count` tells which time it is."""
    program = f"""
import datetime, json, pathlib, sys
note = pathlib.Path({str(folder / "count")!r})
count = int(note.read_text()) + 1 if note.exists() else 1
note.write_text(str(count))
{code}
end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds={seconds})
status = {{"token": f"token-{{count}}", "expirationTimestamp": end.isoformat()}}
print(json.dumps({{"apiVersion": {VERSION!r}, "kind": "ExecCredential", "status": status}}))
"""
    return {"exec": {"apiVersion": VERSION, "command": sys.executable, "args": ["-c", program]}}


async def test_a_plugins_token_is_renewed_before_it_ends(api: ScriptedApi, tmp_path: Path):
    api.on("GET", NODES, EMPTY)
    path = write_kubeconfig(tmp_path / "config", api.url, counting_plugin(tmp_path, seconds=30))
    async with connected(ConnectionSettings(path)) as port:
        await port.list_all(Kind.NODES)
        await port.list_all(Kind.NODES)
    assert who_came(api) == ["Bearer token-1", "Bearer token-2"]


async def test_a_plugin_is_not_run_for_nothing(api: ScriptedApi, tmp_path: Path):
    """Neither while its token is good, nor with every call when the token had ended before it was given."""
    api.on("GET", NODES, EMPTY)
    for seconds in (3600, -5):
        path = write_kubeconfig(tmp_path / "config", api.url, counting_plugin(tmp_path, seconds=seconds))
        async with connected(ConnectionSettings(path), renewal_seconds=60) as port:
            for _ in range(5):
                await port.list_all(Kind.NODES)
    assert who_came(api) == ["Bearer token-1"] * 5 + ["Bearer token-2"] * 5


async def test_a_plugin_that_fails_later_leaves_the_token_in_use(api: ScriptedApi, tmp_path: Path):
    """Until the cluster refuses it: then the plugin's own words are what helps."""
    api.on("GET", NODES, EMPTY, EMPTY, failure(401, "Unauthorized"))
    user = counting_plugin(tmp_path, seconds=30, code="if count > 1: sys.exit('no network')")
    async with connected(ConnectionSettings(write_kubeconfig(tmp_path / "config", api.url, user))) as port:
        await port.list_all(Kind.NODES)
        await port.list_all(Kind.NODES)
        with pytest.raises(UnavailableError, match="no network"):
            await port.list_all(Kind.NODES)
    assert set(who_came(api)) == {"Bearer token-1"}


async def test_a_refusal_in_the_middle_of_pages(api: ScriptedApi, tmp_path: Path):
    first = answer({"metadata": {"resourceVersion": "7", "continue": "more"}, "items": [node_json("a")]})
    last = answer({"metadata": {"resourceVersion": "7"}, "items": [node_json("b")]})
    api.on("GET", NODES, first, failure(401, "Unauthorized"), last)
    path = write_kubeconfig(tmp_path / "config", api.url, counting_plugin(tmp_path, seconds=3600))
    async with connected(ConnectionSettings(path)) as port:
        found = await port.list_all(Kind.NODES)
    assert [item.name for item in found.items] == ["a", "b"]
    assert who_came(api) == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]
    assert [request.query.get("continue") for request in api.requests] == [None, "more", "more"]


async def test_many_at_a_time_run_one_plugin(api: ScriptedApi, tmp_path: Path):
    api.on("GET", NODES, EMPTY)
    path = write_kubeconfig(tmp_path / "config", api.url, counting_plugin(tmp_path, seconds=3600))
    async with connected(ConnectionSettings(path), renewal_seconds=60) as port:
        await asyncio.gather(*(port.list_all(Kind.NODES) for _ in range(20)))
    assert json.loads((tmp_path / "count").read_text()) == 1


async def test_a_plugin_that_fails_is_not_run_with_every_call(api: ScriptedApi, tmp_path: Path):
    user = counting_plugin(tmp_path, seconds=1, code="sys.exit(1)")
    path = write_kubeconfig(tmp_path / "config", api.url, user)
    async with connected(ConnectionSettings(path), look_seconds=60) as port:
        for _ in range(5):
            with pytest.raises(UnavailableError):
                await port.list_all(Kind.NODES)
    assert json.loads((tmp_path / "count").read_text()) == 1
    assert api.requests == []
