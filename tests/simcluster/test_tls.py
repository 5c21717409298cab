"""One kubeconfig for every client: who is trusted with it, who isn't, and that the certificate stays."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import kubernetes
import pytest
import yaml
from cryptography import x509

from app.simcluster.certificate import ADDRESSES, NAMES, make_certificate
from app.simcluster.home import Home
from app.simcluster.server import running
from tests.simcluster.conftest import Served, trusting

NOW = datetime(2026, 11, 30, 13, tzinfo=UTC)


async def test_the_synchronous_client_is_at_home_too(served: Served):
    def nodes() -> int:
        with kubernetes.config.new_client_from_config(str(served.running.kubeconfig)) as api:
            return len(kubernetes.client.CoreV1Api(api).list_node().items)

    assert await asyncio.to_thread(nodes) == 6


@pytest.mark.parametrize("host", [*NAMES, *ADDRESSES])
async def test_the_certificate_holds_for_every_host(tmp_path: Path, host: str):
    async with running(tmp_path, host=host) as cluster, aiohttp.ClientSession(connector=trusting(cluster.ca)) as http:
        assert cluster.url.startswith("https://")
        async with http.get(f"{cluster.url}/readyz") as response:
            assert await response.text() == "ok"


@pytest.mark.parametrize("authority", [None, make_certificate(NOW).authority], ids=["public ones", "another's"])
async def test_other_authorities_do_not_vouch_for_it(served: Served, authority: str | None):
    trust = ssl.create_default_context(cadata=authority)
    async with aiohttp.ClientSession() as http:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await http.get(f"{served.running.url}/readyz", ssl=trust)


async def test_plain_http_is_not_spoken(served: Served):
    with pytest.raises(aiohttp.ClientError):
        await served.http.get(f"{served.running.url.replace('https', 'http', 1)}/readyz")


async def test_the_kubeconfig_verifies_strictly(served: Served):
    config = yaml.safe_load(served.running.kubeconfig.read_text())
    assert set(config["clusters"][0]["cluster"]) == {"server", "certificate-authority-data"}
    assert config["users"][0]["user"] == {"token": served.running.token}
    assert served.running.token not in config["clusters"][0]["cluster"]["server"]
    trust = ssl.create_default_context(cafile=served.running.ca)
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    async with aiohttp.ClientSession() as http, http.get(f"{served.running.url}/readyz", ssl=trust) as response:
        assert response.status == 200


def test_the_certificate_is_good_for_ten_years():
    certificate = x509.load_pem_x509_certificate(make_certificate(NOW).server.encode())
    assert certificate.not_valid_before_utc < NOW
    assert certificate.not_valid_after_utc >= NOW + timedelta(days=3652)


@pytest.mark.parametrize("lost", ["server.pem", "ca.pem"])
def test_half_of_it_is_made_anew_as_a_whole(tmp_path: Path, lost: str):
    Home.open(tmp_path).close()
    before = (tmp_path / "ca.pem").read_text(), (tmp_path / "server.pem").read_text()
    (tmp_path / lost).unlink()
    Home.open(tmp_path).close()
    after = (tmp_path / "ca.pem").read_text(), (tmp_path / "server.pem").read_text()
    assert not set(before) & set(after)
    authority, certificate = (x509.load_pem_x509_certificate(text.encode()) for text in after)
    certificate.verify_directly_issued_by(authority)
