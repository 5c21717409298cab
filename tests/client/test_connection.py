"""Where address and token come from, and that a token is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.client.connection import connection
from app.client.errors import ClientError

TOKEN = {"GPUYARD_TOKEN": "gpuyard_secret"}


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://h:8000", "http://h:8000"),
        ("https://h/", "https://h"),
        ("https://h/yard/graphql", "https://h/yard"),
        (" https://h ", "https://h"),
    ],
)
def test_addresses(given: str, used: str):
    found = connection(given, None, TOKEN)
    assert found.server == used
    assert found.graphql == f"{used}/graphql"
    assert found.socket == f"{used}/graphql".replace("http", "ws", 1)


@pytest.mark.parametrize("given", ["h:8000", "ftp://h", "http://", "http://u:p@h", "http://h?x=1", "http://h:x", ""])
def test_what_is_no_address(given: str):
    with pytest.raises(ClientError, match=r"--server.* is not an address"):
        connection(given, None, TOKEN)


def test_an_option_beats_the_environment_beats_the_default(tmp_path: Path):
    file = tmp_path / "token"
    file.write_text("from_file\n")
    environment = {**TOKEN, "GPUYARD_SERVER": "https://h", "GPUYARD_TOKEN_FILE": str(tmp_path / "none")}
    assert connection(None, None, environment).server == "https://h"
    assert connection(None, None, environment).token == "gpuyard_secret"
    assert connection("http://o", file, environment).server == "http://o"
    assert connection("http://o", file, environment).token == "from_file"
    assert connection(None, None, {"GPUYARD_TOKEN_FILE": str(file)}).token == "from_file"
    assert connection(None, None, TOKEN).server == "http://127.0.0.1:8000"


def test_no_token_says_where_one_is_looked_for():
    with pytest.raises(ClientError, match=r"GPUYARD_TOKEN.*--token-file.*GPUYARD_TOKEN_FILE"):
        connection(None, None, {"GPUYARD_TOKEN": ""})


@pytest.mark.parametrize("content", ["", " \n", "two words", "a\nb", "schlüssel", "x" * 5000])
def test_what_is_no_token_is_not_shown(tmp_path: Path, content: str):
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(ClientError, match=str(file)) as raised:
        connection(None, file, {})
    assert not content.strip() or content.strip() not in str(raised.value)


def test_a_file_that_can_not_be_read(tmp_path: Path):
    with pytest.raises(ClientError, match=r"can't be read.*none"):
        connection(None, tmp_path / "none", {})
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(ClientError, match="can't be read"):
        connection(None, binary, {})


def test_the_token_is_not_in_its_repr():
    assert "gpuyard_secret" not in repr(connection(None, None, TOKEN))
