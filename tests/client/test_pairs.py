"""Labels and mounts, one word each."""

from __future__ import annotations

from typing import Any

import pytest

from app.client.pairs import label, mount


def test_a_label_may_have_an_empty_value_and_signs():
    assert label("team=vision") == {"key": "team", "value": "vision"}
    assert label("example.org/x=") == {"key": "example.org/x", "value": ""}
    assert label("a=b=c") == {"key": "a", "value": "b=c"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("data:/data", {"name": "data", "path": "/data", "readOnly": False}),
        ("data:/data:ro", {"name": "data", "path": "/data", "readOnly": True}),
        ("data:/data:rw", {"name": "data", "path": "/data", "readOnly": False}),
    ],
)
def test_a_mount(text: str, found: dict[str, Any]):
    assert mount(text) == found


@pytest.mark.parametrize("text", ["data", "data:", ":/data", "data:/data:rox", "data:/data:ro:x"])
def test_what_is_no_mount(text: str):
    with pytest.raises(ValueError, match="NAME:/PATH:ro"):
        mount(text)


@pytest.mark.parametrize("text", ["team", "=x"])
def test_what_is_no_label(text: str):
    with pytest.raises(ValueError, match="KEY=VALUE"):
        label(text)
