"""Whatever answers at an address, the command says one clear sentence; a lost answer is asked for again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import stamina
import typer

from app.client.api import Api, tls_context
from app.client.commands import wait
from app.client.connection import Connection
from app.client.errors import ClientError, LostAnswerError, RefusedError, UnreachableError
from app.client.waiting import EXIT_UNKNOWN
from app.simcluster.certificate import make_certificate
from tests.client.scripted import CUT, Answer, Script, answering, data, refused

HTML = Answer(200, "<html>welcome</html>", "text/html; charset=utf-8")


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with stamina.set_testing(True, attempts=3):
        yield


def ask(url: str) -> dict[str, Any]:
    connection = Connection(url, "gpuyard_secret", "--server", "GPUYARD_TOKEN")
    with Api(connection, tls_context()) as api:
        return api.ask("viewer", {"a": 1})


def asking(*answers: Answer) -> tuple[Script, Exception | dict[str, Any]]:
    with answering(*answers) as script:
        try:
            return script, ask(script.url)
        except ClientError as error:
            return script, error


def test_it_sends_the_document_and_the_token():
    script, answer = asking(data({"viewer": 1}))
    assert answer == {"viewer": 1}
    assert script.seen[0]["variables"] == {"a": 1}
    assert script.seen[0]["query"].startswith("query Viewer {")
    assert script.tokens == ["Bearer gpuyard_secret"]


RATE = refused("at most 200 operations a second", code="RATE_LIMITED", retryAfter=0.01)


@pytest.mark.parametrize(
    "lost", [CUT, Answer(502, "<html/>", "text/html"), Answer(503, "{}"), Answer(429, "slow"), RATE]
)
def test_a_lost_answer_is_asked_for_again(lost: Answer):
    script, answer = asking(lost, lost, data({"viewer": 1}))
    assert answer == {"viewer": 1}
    assert len(script.seen) == 3


def test_a_rate_that_stays_too_high_may_be_waited_out():
    _, error = asking(RATE)
    assert isinstance(error, UnreachableError)
    assert str(error) == "at most 200 operations a second"


def test_an_answer_that_stays_lost():
    script, error = asking(Answer(503, "", "text/html"))
    assert isinstance(error, LostAnswerError)
    assert "answers 503 Service Unavailable" in str(error)
    assert len(script.seen) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (HTML, "answers 200 with text/html instead of GraphQL; is --server GPUYard's address?"),
        (Answer(404, '{"detail": "Not Found"}'), "answers 404 with application/json instead of GraphQL"),
        (Answer(200, "[1]"), "instead of GraphQL"),
        (Answer(413, "at most 2 MiB", "text/plain"), "takes in one request"),
        (Answer(401, "", "text/plain"), "answers 401: it does not take the token of GPUYARD_TOKEN"),
        (Answer(301, "", "text/html", {"location": "https://h/graphql"}), "leads on to https://h/graphql"),
        (refused("no such field"), "no such field"),
        (refused("the token is unknown", code="UNAUTHENTICATED"), "unknown (it came from GPUYARD_TOKEN)"),
    ],
)
def test_what_is_not_the_answer_is_told_once(answer: Answer, words: str):
    script, error = asking(answer)
    assert words in str(error)
    assert "gpuyard_secret" not in str(error)
    assert len(script.seen) == 1


def test_every_wrong_field_has_a_sentence():
    fields = [{"field": "image", "message": "is blank"}, {"field": "gpuCount", "message": "must be between"}]
    _, error = asking(refused("all of it", code="BAD_USER_INPUT", fields=fields))
    assert isinstance(error, RefusedError)
    assert error.code == "BAD_USER_INPUT"
    assert error.sentences == ("image: is blank", "gpuCount: must be between")


def test_nobody_listens():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=r"\(--server\) can't be reached: .*refused") as raised:
            ask(url)
    assert not isinstance(raised.value, LostAnswerError)


def test_a_name_that_nobody_has():
    with pytest.raises(UnreachableError, match="can't be reached"):
        ask("http://gpuyard.invalid")


def test_what_the_environment_says_and_can_not_be_used(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SSL_CERT_FILE", "no-such-file")
    with pytest.raises(ClientError, match=r"no-such-file \(SSL_CERT_FILE"):
        tls_context()
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1080")
    with pytest.raises(ClientError, match="a SOCKS proxy"):
        ask("http://gpuyard.invalid")


def test_plain_http_where_tls_was_expected():
    with answering(HTML) as script, pytest.raises(ClientError, match="does it speak plain http"):
        ask(script.url.replace("http", "https"))


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = make_certificate(datetime.now(UTC))
    (tmp_path / "server.pem").write_text(made.server)
    (tmp_path / "ca.pem").write_text(made.authority)
    with answering(data({"viewer": 1}), certificate=tmp_path / "server.pem") as script:
        with pytest.raises(ClientError, match=r"is not trusted.*SSL_CERT_FILE"):
            ask(script.url)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert ask(script.url) == {"viewer": 1}


@pytest.mark.parametrize(
    "answer",
    [
        data({}),
        data({"organization": 5}),
        data({"organization": {"workload": {"status": "COMPLETED"}}}),
        refused("no", fields=["x"]),
        Answer(200, "[" * 100_000),
    ],
)
def test_what_nobody_expects_is_one_line_and_no_containers_exit_code(
    answer: Answer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("GPUYARD_TOKEN", "gpuyard_secret")
    with answering(answer) as script, pytest.raises(typer.Exit) as end:
        wait(str(UUID(int=1)), server=script.url, organization="acme")
    assert end.value.exit_code == EXIT_UNKNOWN
    assert "is not what this command expects" in capsys.readouterr().err
