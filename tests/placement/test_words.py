"""Numbers for people."""

from __future__ import annotations

import pytest

from app.placement import words


@pytest.mark.parametrize(("millis", "text"), [(16_000, "16"), (1500, "1.5"), (1, "0.001"), (0, "0"), (-2000, "0")])
def test_cpu_is_told_in_cores(millis: int, text: str):
    assert words.cpu(millis) == text


@pytest.mark.parametrize(
    ("size", "down", "up"),
    [
        (2**40, "1Ti", "1Ti"),
        (3 * 2**39, "1.5Ti", "1.5Ti"),
        (64 * 2**30 - 1, "63.9Gi", "64Gi"),
        (64 * 2**30 + 1, "64Gi", "64.1Gi"),
        (512 * 2**20, "512Mi", "512Mi"),
        (2048, "2Ki", "2Ki"),
        (100, "100", "100"),
        (-5, "0", "0"),
    ],
)
def test_memory_rounds_down_when_free_and_up_when_needed(size: int, down: str, up: str):
    assert (words.memory(size), words.memory(size, round_up=True)) == (down, up)


@pytest.mark.parametrize(
    ("parts", "text"),
    [((525, 60, 13), "525.60.13"), ((450, 80, 2), "450.80.02"), ((470, 42), "470.42"), ((535, 104, 5), "535.104.05")],
)
def test_a_version_reads_as_nvidia_prints_it(parts: tuple[int, ...], text: str):
    assert words.version(parts) == text


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_reads_as_a_sentence(items: list[str], text: str):
    assert words.listed(items) == text
