"""Names as DNS has them, which Kubernetes asks for in most places: RFC 1123, in lower case."""

from __future__ import annotations

DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
DNS_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"  # the length is not in it
LONGEST_DNS_NAME = 253
