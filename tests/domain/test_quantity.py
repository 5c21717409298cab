"""Kubernetes quantities: parsing, rounding up, writing back."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.quantity import format_cpu, format_memory, parse_cpu, parse_memory, parse_quantity


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("4", 4000),
        ("500m", 500),
        ("0.5", 500),
        (".5", 500),
        ("2.", 2000),
        ("1k", 1_000_000),
        ("+3", 3000),
        (" 2 ", 2000),
        ("0.0001", 1),
        ("1.0001", 1001),
        ("100u", 1),
        ("1n", 1),
        ("1e1", 10_000),
        ("5E-1", 500),
        ("0", 0),
        ("-1", -1000),
    ],
)
def test_cpu_is_thousandths_rounded_up(text: str, millis: int) -> None:
    assert parse_cpu(text) == millis


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("16Gi", 16 * 2**30),
        ("64G", 64 * 10**9),
        ("1.5Gi", 3 * 2**29),
        ("512Mi", 512 * 2**20),
        ("1Ki", 1024),
        ("1k", 1000),
        ("2T", 2 * 10**12),
        ("1Ei", 2**60),
        ("1E", 10**18),
        ("1e3", 1000),
        ("12E2", 1200),
        ("1024", 1024),
        ("1.1", 2),
        ("1m", 1),
        ("0.1Ki", 103),
    ],
)
def test_memory_is_bytes_rounded_up(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "m", "Gi", "four", "1 Gi", "1.2.3", "--1", "1,5", "0x10", "NaN", "inf", "1e1.5", "٣"),
        *("1GB", "1gi", "1K", "1kI", "1Gib"),
        *("1e", "1Exa", "5eGi", "1E+"),
    ],
)
def test_what_is_no_quantity_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError, match="is not a") as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["1e4000", "9" * 400, "1e99999999999999999999"])
def test_a_number_beyond_any_machine_is_refused_not_computed(text: str) -> None:
    """Kubernetes stops at 2**63; the whole number of `1e999999999` alone would take minutes and 400 MB."""
    for parse in (parse_cpu, parse_memory):
        with pytest.raises(ValueError, match="quantity"):
            parse(text)


def test_a_long_text_is_cut_in_the_message() -> None:
    with pytest.raises(ValueError, match="quantity") as caught:
        parse_quantity("x" * 10_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (16 * 2**30, "16Gi"),
        (2**40, "1Ti"),
        (3 * 2**29, "1536Mi"),
        (1024, "1Ki"),
        (1025, "1025"),
        (64 * 10**9, "64G"),
        (64 * 10**6, "62500Ki"),
        (0, "0"),
    ],
)
def test_memory_is_written_in_the_largest_whole_unit(size: int, text: str) -> None:
    assert format_memory(size) == text


@pytest.mark.parametrize(("millis", "text"), [(4000, "4"), (500, "500m"), (1500, "1500m"), (0, "0")])
def test_cpu_is_written_in_cores_where_whole(millis: int, text: str) -> None:
    assert format_cpu(millis) == text


@given(st.integers(0, 10**9))
def test_cpu_survives_being_written_and_read(millis: int) -> None:
    assert parse_cpu(format_cpu(millis)) == millis


@given(st.integers(0, 2**60))
def test_memory_survives_being_written_and_read(size: int) -> None:
    assert parse_memory(format_memory(size)) == size


UNITS = st.sampled_from(["m", "", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"])


@given(st.decimals(0, 10_000, places=4).map(lambda d: f"{d:f}"), UNITS)
def test_rounding_never_gives_less_than_was_asked_nor_a_whole_unit_more(number: str, unit: str) -> None:
    exact = parse_quantity(number + unit)
    assert exact <= parse_memory(number + unit) < exact + 1
    assert exact * 1000 <= parse_cpu(number + unit) < exact * 1000 + 1


@given(st.text(alphabet="0123456789.+-eEmkKGiTn ", max_size=8))
def test_any_text_is_a_number_or_a_value_error(text: str) -> None:
    try:
        number = parse_quantity(text)
    except ValueError as error:
        assert "quantity" in str(error) or "unit" in str(error)  # noqa: PT017 — either outcome is right
    else:
        assert isinstance(number, Decimal)
