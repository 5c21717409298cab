"""Moments, spans, ids and logs as the panel writes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from app.panel import wording

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

AGES = [
    (-60, "just now"),
    (0, "just now"),
    (4, "just now"),
    (5, "5 s ago"),
    (59, "59 s ago"),
    (60, "1 min ago"),
    (3599, "59 min ago"),
    (3600, "1 h ago"),
    (86399, "23 h ago"),
    (86400, "1 d ago"),
]
SPANS = [
    (-5, "0 s"),
    (0.9, "0 s"),
    (59, "59 s"),
    (60, "1 min"),
    (200, "3 min 20 s"),
    (3900, "1 h 05 min"),
    (7200, "2 h"),
    (187200, "2 d 04 h"),
]


@pytest.mark.parametrize(("seconds", "words"), AGES)
def test_ages(seconds: int, words: str):
    assert wording.ago(NOW - timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(("seconds", "words"), SPANS)
def test_spans(seconds: float, words: str):
    assert wording.span(seconds) == words
    assert wording.span(timedelta(seconds=seconds)) == words


def test_moments_are_utc():
    assert wording.exact(NOW) == "2026-11-30 12:00:00 UTC"
    assert wording.iso(NOW) == "2026-11-30T12:00:00Z"
    assert wording.clock_time(NOW) == "12:00 UTC"


@pytest.mark.parametrize(
    ("uuid", "short"),
    [
        ("GPU-5ad5c1e0-2222-3333-4444-555555555555", "GPU-5ad5c1e0"),
        ("MIG-5ad5c1e0-2222-3333-4444-555555555555", "MIG-5ad5c1e0"),
        ("5ad5c1e0-2222", "5ad5c1e0"),
        ("", ""),
        ("GPU-", "GPU-"),
        ("a\nb", "a\nb"),
    ],
)
def test_ids_are_shortened(uuid: str, short: str):
    assert wording.short_id(uuid) == short


@pytest.mark.parametrize(
    ("clause", "words"), [("it is so", "It is so."), ("Why?", "Why?"), ("", ""), ("cut off…", "Cut off…")]
)
def test_sentences(clause: str, words: str):
    assert wording.sentence(clause) == words


LOGS = [
    (b"plain\n", "plain\n"),
    (b"\x1b[1;31mred\x1b[0m", "red"),
    (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    (b"10%\r20%\r\nend", "10%\n20%\nend"),
    (b"a\x00b\x7f", "a\ufffdb\ufffd"),
    (b"\xff\xc3\xa4", "\ufffdä"),
    (b"\x1b(Btext\x1bM", "text"),
    (b"tab\tstays", "tab\tstays"),
    (b"open \x1b]0;title", "open "),
]


@pytest.mark.parametrize(("raw", "text"), LOGS)
def test_logs(raw: bytes, text: str):
    assert wording.plain_text(raw) == text
