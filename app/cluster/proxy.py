"""Which proxy leads to the cluster: the environment's variables, read as kubectl and every Go client reads them.

Used by `credentials`. The HTTP library's own reading is left out: it knows no networks in NO_PROXY (`10.0.0.0/8`, the
usual way to except a cluster), sends this machine's own addresses to the proxy, and takes passwords from ~/.netrc.
Rules: golang.org/x/net/http/httpproxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """The proxy's URL, or None for a direct connection."""
    target = urlsplit(url)
    host, port = target.hostname or "", target.port or _DEFAULT_PORTS.get(target.scheme, 0)
    proxy = _variable(environment, f"{target.scheme}_proxy")
    if not proxy or _is_this_machine(host):
        return None
    exceptions = [item.strip().lower() for item in _variable(environment, "no_proxy").split(",")]
    if any(_excepts(item, host, port) for item in exceptions if item):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environment: Mapping[str, str], name: str) -> str:
    return environment.get(name.upper()) or environment.get(name) or ""


def _is_this_machine(host: str) -> bool:
    address = _address(host)
    return host == "localhost" if address is None else address.is_loopback


def _excepts(item: str, host: str, port: int) -> bool:
    if item == "*":
        return True
    if "/" in item:
        return _is_in_network(host, item)
    name, wanted_port = _split_port(item)
    if wanted_port is not None and wanted_port != port:
        return False
    if (address := _address(name)) is not None:
        return address == _address(host)
    if name.startswith(("*.", ".")):
        return host.endswith(name.removeprefix("*"))
    return host == name or host.endswith(f".{name}")


def _is_in_network(host: str, network: str) -> bool:
    address = _address(host)
    try:
        return address is not None and address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _split_port(item: str) -> tuple[str, int | None]:
    if _address(item) is not None:  # an IPv6 address is full of colons
        return item, None
    name, colon, port = item.rpartition(":")
    if colon and port.isascii() and port.isdecimal():
        return name, int(port)
    return item, None


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
