"""Where a state-changing request comes from, as the browser tells: `Sec-Fetch-Site` and `Origin`.

Programs send neither, so their absence says nothing: such a request needs a valid form token. A proxy in front must
pass the Host header on, as the Origin is held against it.
"""

from __future__ import annotations

from enum import Enum
from urllib.parse import urlsplit

from starlette.datastructures import Headers

_OWN_SITES = ("same-origin", "none")  # none: the person typed the address, or used a bookmark
_DEFAULT_PORTS = (":80", ":443")


class Source(Enum):
    OWN = "own"
    FOREIGN = "foreign"
    UNKNOWN = "unknown"


def source_of(headers: Headers) -> Source:
    """FOREIGN if either header says so: a browser that follows the standard never contradicts itself."""
    verdicts = {_by_fetch_site(headers.get("sec-fetch-site")), _by_origin(headers.get("origin"), headers.get("host"))}
    if Source.FOREIGN in verdicts:
        return Source.FOREIGN
    return Source.OWN if Source.OWN in verdicts else Source.UNKNOWN


def _by_fetch_site(site: str | None) -> Source:
    if site is None:
        return Source.UNKNOWN
    return Source.OWN if site in _OWN_SITES else Source.FOREIGN


def _by_origin(origin: str | None, host: str | None) -> Source:
    """Hosts are compared, not schemes: a proxy that ends TLS need not be trusted for this to work."""
    if origin is None:
        return Source.UNKNOWN
    try:
        origin_host = urlsplit(origin).netloc
    except ValueError:
        return Source.FOREIGN
    return Source.OWN if origin_host and _bare(origin_host) == _bare(host or "") else Source.FOREIGN


def _bare(host: str) -> str:
    """Without the port that the scheme implies."""
    lowered = host.lower()
    return next((lowered.removesuffix(port) for port in _DEFAULT_PORTS if lowered.endswith(port)), lowered)
