"""Which CUDA version a reference states, and which drivers run it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.cuda import MINIMUM_DRIVER, CudaVersion, cuda_of_image, driver_runs, is_newer_minor, parse_driver


@pytest.mark.parametrize(
    ("path", "tag", "expected"),
    [
        pytest.param("nvidia/cuda", "12.2.0-base-ubuntu22.04", (12, 2), id="the repository named cuda"),
        pytest.param("cuda", "11.8.0-cudnn8-devel", (11, 8), id="cuda without a namespace"),
        pytest.param("pytorch/pytorch", "2.4.0-cuda12.4-cudnn9-runtime", (12, 4), id="cuda12.4 in a tag"),
        pytest.param("a/b", "cuda12.4", (12, 4), id="cuda12.4 is the whole tag"),
        pytest.param("a/b", "v1-cuda-11.8.0", (11, 8), id="cuda-11.8.0"),
        pytest.param("a/b", "v1_CUDA_12.1", (12, 1), id="capitals and underscores"),
        pytest.param("a/b", "2.6.0-cu124", (12, 4), id="cu124"),
        pytest.param("a/b", "cu118-py311", (11, 8), id="cu118 first"),
        pytest.param("a/b", "py3.11-cu12.6", (12, 6), id="cu12.6"),
        pytest.param("nvidia/cuda", "devel-cuda13.0", (13, 0), id="cuda named, version later"),
    ],
)
def test_a_stated_version_is_read(path: str, tag: str, expected: tuple[int, int]) -> None:
    assert cuda_of_image(path, tag) == CudaVersion(*expected)


@pytest.mark.parametrize(
    ("path", "tag"),
    [
        pytest.param("nvidia/cuda", "latest", id="cuda without a number"),
        pytest.param("nvidia/cuda", "", id="no tag"),
        pytest.param("pytorch/pytorch", "12.4", id="a bare number elsewhere"),
        pytest.param("nvcr.io/nvidia/pytorch", "24.05-py3", id="a release that looks like one"),
        pytest.param("cuda/runner", "12.2.0", id="cuda is the namespace, not the repository"),
        pytest.param("my-cuda", "12.2.0", id="a repository that only contains cuda"),
        pytest.param("a/b", "cudnn8.9", id="cuDNN is not CUDA"),
        pytest.param("a/b", "icu74.2", id="cu inside a word"),
        pytest.param("a/b", "acuda12.4", id="cuda inside a word"),
        pytest.param("a/b", "cu12", id="a major version alone"),
        pytest.param("a/b", "cu1241", id="four digits"),
        pytest.param("a/b", "cuda12.412", id="a minor version of three digits"),
    ],
)
def test_nothing_is_guessed_from_other_numbers(path: str, tag: str) -> None:
    assert cuda_of_image(path, tag) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("535.104.05", (535, 104, 5)),
        ("580.65.06", (580, 65, 6)),
        ("550", (550,)),
        ("", None),
        ("535.104.05-server", None),
        ("535..05", None),
        ("N/A", None),
    ],
)
def test_a_driver_version_is_numbers(text: str, expected: tuple[int, ...] | None) -> None:
    assert parse_driver(text) == expected


@pytest.mark.parametrize(
    ("driver", "cuda", "runs"),
    [
        pytest.param((450, 80, 2), (11, 8), True, id="11: the minimum itself"),
        pytest.param((450, 80, 1), (11, 0), False, id="11: one below"),
        pytest.param((525, 60, 13), (12, 9), True, id="12: any minor version"),
        pytest.param((525, 60, 12), (12, 0), False, id="12: one below"),
        pytest.param((580, 65, 6), (13, 0), True, id="13: the minimum itself"),
        pytest.param((575, 51, 3), (13, 0), False, id="13: the branch before"),
        pytest.param((610, 43), (11, 2), True, id="newer drivers run older toolkits"),
        pytest.param((390, 157), (10, 2), True, id="a major version not on record rules nothing out"),
        pytest.param(None, (12, 4), True, id="an unknown driver rules nothing out"),
        pytest.param((390, 157), None, True, id="no CUDA stated"),
    ],
)
def test_the_minimum_driver_of_the_major_version_counts(
    driver: tuple[int, ...] | None, cuda: tuple[int, int] | None, runs: bool
) -> None:
    assert driver_runs(driver, CudaVersion(*cuda) if cuda else None) is runs


@given(st.sampled_from(sorted(MINIMUM_DRIVER)), st.integers(0, 9), st.tuples(*[st.integers(300, 700)] * 3))
def test_within_a_major_version_the_minor_one_rules_nothing_out(
    major: int, minor: int, driver: tuple[int, ...]
) -> None:
    assert driver_runs(driver, CudaVersion(major, minor)) is driver_runs(driver, CudaVersion(major, 0))


def test_a_version_is_written_with_a_dot() -> None:
    assert str(CudaVersion(12, 4)) == "12.4"


@pytest.mark.parametrize(
    ("cuda", "supported", "is_newer"),
    [
        ((12, 4), "12.2", True),
        ((12, 2), "12.2", False),
        ((12, 1), "12.2", False),
        ((13, 0), "12.2", False),
        ((11, 8), "12.2", False),
        ((12, 10), "12.9", True),
        ((12, 4), "", False),
        ((12, 4), "unknown", False),
        (None, "12.2", False),
    ],
)
def test_a_later_minor_version_of_the_drivers_major_one_is_worth_a_warning(
    cuda: tuple[int, int] | None, supported: str, is_newer: bool
) -> None:
    assert is_newer_minor(CudaVersion(*cuda) if cuda else None, supported) is is_newer
