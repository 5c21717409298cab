"""The URL of a database: spellings that are taken, settings that are added, and what is refused."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from app.store import people
from app.store.database import UnsupportedDatabaseError, normalize_url, opened
from tests.clock import START
from tests.store.builders import an_organization


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("sqlite:///data/gpuyard.db", "sqlite://data/gpuyard.db"),
        ("sqlite:////var/lib/gpuyard.db", "sqlite:///var/lib/gpuyard.db"),
        ("sqlite://gpuyard.db", "sqlite://gpuyard.db"),
        ("sqlite://:memory:", "sqlite://:memory:"),
        ("SQLITE:///a.db", "sqlite://a.db"),
        ("postgres://user@host/name", "asyncpg://user@host/name"),
        ("postgresql://user:p%40ss@host:6432/name", "asyncpg://user:p%40ss@host:6432/name"),
        ("asyncpg://user@host/name", "asyncpg://user@host/name"),
    ],
)
def test_a_url_comes_out_in_the_librarys_spelling(given: str, path: str):
    assert normalize_url(given).partition("?")[0] == path


def test_settings_are_added_where_the_url_has_none():
    sqlite, postgres = settings_of("sqlite:///a.db"), settings_of("postgres://u@h/n")
    wanted = {"busy_timeout": ["10000"], "synchronous": ["NORMAL"], "foreign_keys": ["ON"]}
    assert sqlite == wanted | {"case_sensitive_like": ["ON"], "install_regexp_functions": ["true"]}
    assert postgres == {"minsize": ["1"], "maxsize": ["16"]}


def test_the_urls_own_settings_win_and_others_stay():
    assert settings_of("sqlite:///a.db?busy_timeout=5&cache_size=9")["busy_timeout"] == ["5"]
    assert settings_of("sqlite:///a.db?busy_timeout=5&cache_size=9")["cache_size"] == ["9"]
    assert settings_of("postgres://u@h/n?maxsize=2&ssl=require") == {
        "minsize": ["1"],
        "maxsize": ["2"],
        "ssl": ["require"],
    }


def settings_of(url: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(normalize_url(url)).query)


@pytest.mark.parametrize("url", ["mysql://user:secret@host/name", "gpuyard.db", "", "http://user:secret@host", "://"])
def test_another_database_is_refused_with_what_would_do(url: str):
    with pytest.raises(UnsupportedDatabaseError, match=r"sqlite:///path or postgres://user@host/name") as refusal:
        normalize_url(url)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["plain.db", "with space.db", "50%.db", "ü.db", "a%20b.db"])
async def test_a_file_gets_the_name_that_was_asked_for(tmp_path: Path, name: str):
    async with opened(f"sqlite:///{tmp_path}/{name}"):
        assert [found for found in os.listdir(tmp_path) if not found.endswith(("-wal", "-shm", ".lock"))] == [name]  # noqa: PTH208


async def test_a_relative_path_is_relative_to_where_it_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    async with opened("sqlite:///here.db"):
        assert (tmp_path / "here.db").is_file()


async def test_sqlite_keeps_its_rules_and_waits_for_others(sqlite_url: str):
    async with opened(sqlite_url) as database:
        connection = database._context.connections.get("sqlite")
        for pragma, value in {"foreign_keys": 1, "busy_timeout": 10000, "journal_mode": "wal"}.items():
            [row] = await connection.execute_query_dict(f"PRAGMA {pragma}")
            assert list(row.values()) == [value]


async def test_two_databases_are_open_side_by_side(sqlite_url: str, tmp_path: Path):
    async with opened(sqlite_url) as first, opened(f"sqlite:///{tmp_path}/second.db"):
        second_made = await an_organization("second")
        with first.active():
            assert await people.organizations() == []
        assert await people.organizations() == [second_made]


async def test_a_task_uses_the_database_it_was_started_under(sqlite_url: str, tmp_path: Path):
    async with opened(sqlite_url):
        await an_organization("first")
        task = asyncio.create_task(people.organizations())
        async with opened(f"sqlite:///{tmp_path}/second.db"):
            assert [o.slug for o in await task] == ["first"]


async def test_what_was_written_is_there_after_a_restart(database_url: str):
    async with opened(database_url):
        made = await people.add_organization("acme", "Acme", enabled=True, is_default=True, at=START)
    async with opened(database_url):
        assert await people.organizations() == [made]
