"""Container image references: what is one, and what `image` plus `tag` mean together.

Grammar: distribution/reference, as containerd and the kubelet parse it. The Kubernetes API checks only that the text
is not empty, so a bad reference would surface as InvalidImageName on the node; it is refused here instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.domain.errors import InvalidInputError

_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_COMPONENT = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = re.compile(rf"(?:\[[0-9a-fA-F:]+\]|{_LABEL}(?:\.{_LABEL})*)(?::[0-9]{{1,5}})?")
_DIGESTS = {"sha256": 64, "sha384": 96, "sha512": 128}
_MAX_PATH = 255
_MAX_HOST = 260  # a DNS name and a port


@dataclass(frozen=True)
class ImageReference:
    """`host` may be empty (the runtime's default registry); `path` has no host; `tag` and `digest` may be empty."""

    host: str
    path: str
    tag: str
    digest: str

    def __str__(self) -> str:
        name = f"{self.host}/{self.path}" if self.host else self.path
        return name + (f":{self.tag}" if self.tag else "") + (f"@{self.digest}" if self.digest else "")


def parse_image(text: str) -> ImageReference:
    """Parse one reference. Raises InvalidInputError naming the part that is wrong."""
    rest, _, digest = text.partition("@")
    if "@" in text:
        _check_digest(text, digest)
    slash, colon = rest.rfind("/"), rest.rfind(":")
    tag = ""
    if colon > slash:
        rest, tag = rest[:colon], rest[colon + 1 :]
        _check_tag("image", tag)
    host, path = _split_host(rest)
    _check_path(text, host, path)
    return ImageReference(host, path, tag, digest)


def resolve_image(image: str | None, tag: str | None) -> ImageReference:
    """The reference that `image` and the optional `tag` stand for.

    Where `image` has a tag itself, the same tag or `latest` yields to it: the product's own example gives
    `nvidia/cuda:12.2.0-base-ubuntu22.04` with tag `latest`. Another tag, or a tag beside a digest, is a contradiction
    and is refused with both named.
    """
    text, wanted = (image or "").strip(), (tag or "").strip()
    if not text:
        raise InvalidInputError.of(
            "image", "an image is required, for example nvidia/cuda:12.2.0-base-ubuntu22.04; it is blank"
        )
    reference = parse_image(text)
    if not wanted:
        return reference
    _check_tag("tag", wanted)
    if reference.digest:
        raise InvalidInputError.of(
            "tag",
            f"the image is pinned by digest {reference.digest[:19]}…, so tag {wanted!r} can't apply; leave one out",
        )
    if reference.tag in ("", wanted):
        return ImageReference(reference.host, reference.path, wanted, "")
    if wanted == "latest":
        return reference
    raise InvalidInputError.of(
        "tag", f"the image already has tag {reference.tag!r} and tag {wanted!r} was given too; leave one out"
    )


def _split_host(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    is_host = bool(slash) and (first == "localhost" or "." in first or ":" in first or first.lower() != first)
    return (first, rest) if is_host else ("", name)


def _check_path(text: str, host: str, path: str) -> None:
    shown = text[:80]
    if host and (len(host) > _MAX_HOST or not _HOST.fullmatch(host)):
        raise InvalidInputError.of("image", f"{host[:80]!r} in {shown!r} is not a registry host")
    if not path or len(path) > _MAX_PATH:
        raise InvalidInputError.of("image", f"the repository in {shown!r} must have 1 to {_MAX_PATH} characters")
    for component in path.split("/"):
        if not _COMPONENT.fullmatch(component):
            raise InvalidInputError.of(
                "image",
                f"{component!r} in {shown!r} is not a repository name: lower-case letters and digits, "
                "joined by '.', '_', '__' or '-'",
            )
    if not host and re.fullmatch(r"[0-9a-f]{64}", path):
        raise InvalidInputError.of("image", "a bare image id is not a reference; give repository@sha256:…")


def _check_tag(field: str, tag: str) -> None:
    if not _TAG.fullmatch(tag):
        raise InvalidInputError.of(
            field,
            f"{tag[:80]!r} is not a tag: up to 128 letters, digits, '_', '.' or '-', not starting with '.' or '-'",
        )


def _check_digest(text: str, digest: str) -> None:
    algorithm, _, value = digest.partition(":")
    if _DIGESTS.get(algorithm) != len(value) or not re.fullmatch(r"[0-9a-f]+", value):
        raise InvalidInputError.of(
            "image",
            f"the part behind '@' in {text[:80]!r} is not a digest, for example sha256: and 64 hexadecimal digits",
        )
