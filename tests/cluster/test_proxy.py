"""The proxy of the environment, as Go's clients find it."""

from __future__ import annotations

import pytest

from app.cluster.proxy import proxy_for

BOTH = {"HTTPS_PROXY": "http://secure:1", "HTTP_PROXY": "http://plain:2"}


@pytest.mark.parametrize(
    ("url", "no_proxy", "found"),
    [
        ("https://api.example.org", "", "http://secure:1"),
        ("http://api.example.org", "", "http://plain:2"),
        ("https://api.example.org", "*", None),
        ("https://api.example.org", "example.org", None),
        ("https://api.example.org", ".example.org", None),
        ("https://api.example.org", "*.example.org", None),
        ("https://example.org", ".example.org", "http://secure:1"),
        ("https://notexample.org", "example.org", "http://secure:1"),
        ("https://api.example.org:6443", "api.example.org:6443", None),
        ("https://api.example.org:6443", "api.example.org:443", "http://secure:1"),
        ("https://api.example.org", " elsewhere , API.example.org ", None),
        ("https://10.96.0.1", "10.0.0.0/8", None),
        ("https://11.96.0.1", "10.0.0.0/8,nonsense/99", "http://secure:1"),
        ("https://10.96.0.1", "10.96.0.1", None),
        ("https://10.96.0.1:443", "10.96.0.1:443", None),
        ("https://[fd00::1]:6443", "fd00::/8", None),
        ("https://[fd00::1]:6443", "fd00::1", None),
        ("https://localhost:6443", "", None),
        ("https://127.8.8.8", "", None),
        ("https://[::1]", "", None),
    ],
)
def test_which_proxy(url: str, no_proxy: str, found: str | None):
    assert proxy_for(url, {**BOTH, "NO_PROXY": no_proxy}) == found


def test_other_spellings():
    assert proxy_for("https://a.example", {"https_proxy": "proxy:3128"}) == "http://proxy:3128"
    assert proxy_for("https://a.example", {"https_proxy": "proxy:3128", "no_proxy": "a.example"}) is None
    assert proxy_for("https://a.example", {"HTTP_PROXY": "proxy:3128"}) is None
    assert proxy_for("https://a.example", {}) is None
