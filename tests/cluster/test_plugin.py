"""Credential plugins as real programs: what they are asked, and every way they fail."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes.aio.config.config_exception import ConfigException

from app.cluster.plugin import PluginCredential, ask_plugin

VERSION = "client.authentication.k8s.io/v1"


def plugin(code: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "command": sys.executable, "args": ["-c", code], **more}


def prints(status: object) -> str:
    return f"print({json.dumps({'apiVersion': VERSION, 'kind': 'ExecCredential', 'status': status})!r})"


async def ask(code: str, seconds: float = 20, **more: Any) -> PluginCredential:
    return await ask_plugin(plugin(code, **more), {"server": "https://a.example"}, "/", seconds)


async def test_a_token_with_its_end():
    status = {"token": "t\n", "expirationTimestamp": "2026-11-30T12:00:00Z"}
    assert await ask(prints(status)) == PluginCredential("t", expires_at=datetime(2026, 11, 30, 12, tzinfo=UTC))


async def test_a_certificate():
    status = {"clientCertificateData": "C", "clientKeyData": "K"}
    assert await ask(prints(status)) == PluginCredential(certificate="C", key="K")


async def test_what_it_is_told():
    code = (
        "import os, sys, json; asked = json.loads(os.environ['KUBERNETES_EXEC_INFO']);"
        "assert sys.stdin.read() == ''; assert asked['spec']['interactive'] is False;"
        "print(json.dumps({'status': {'token': asked['spec']['cluster']['server'] + os.environ['WHO']}}))"
    )
    env = [{"name": "WHO", "value": "-me"}]
    assert (await ask(code, provideClusterInfo=True, env=env)).token == "https://a.example-me"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('please log in\\n' * 99)", "ended with code 1: please log in"),
        ("print('no json')", "did not print an ExecCredential"),
        ("print('[]')", "did not print an ExecCredential"),
        ("import sys; sys.stdout.buffer.write(bytes([255, 0, 10]) * 1000)", "did not print an ExecCredential"),
        (prints(None), "did not print an ExecCredential"),
        (prints({"token": 7}), "did not print an ExecCredential"),
        (prints({"token": "t", "expirationTimestamp": "soon"}), "did not print an ExecCredential"),
        (prints({}), "neither a token nor a certificate"),
        (prints({"token": "", "clientCertificateData": "C"}), "neither a token nor a certificate"),
    ],
)
async def test_what_it_says_is_of_no_use(code: str, words: str):
    with pytest.raises(ConfigException, match=words) as caught:
        await ask(code)
    assert len(str(caught.value)) < 500


async def test_one_that_fills_its_error_output_is_heard_to_its_end():
    with pytest.raises(ConfigException, match="code 3"):
        await ask("import sys; sys.stderr.write('x' * 1_000_000); sys.exit(3)")


async def test_there_is_no_such_program():
    with pytest.raises(ConfigException, match="no-such-program"):
        await ask_plugin({"command": "no-such-program"}, {}, "/")


async def test_a_relative_path_is_from_where_the_kubeconfig_is(tmp_path: Path):
    program = tmp_path / "bin" / "log-in"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{prints({'token': 'relative'})}\n")
    program.chmod(0o755)
    assert (await ask_plugin({"command": "bin/log-in"}, {}, str(tmp_path))).token == "relative"


async def test_one_that_hangs_is_ended_with_what_it_started(tmp_path: Path):
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys; child = subprocess.Popen(['sleep', '60']);"
        f"open({str(note)!r}, 'w').write(str(child.pid)); child.wait()"
    )
    with pytest.raises(ConfigException, match="no answer within 4 s"):
        await ask(code, seconds=4)  # in which it has surely begun
    async with asyncio.timeout(60):
        while _is_alive(int(note.read_text())):  # noqa: ASYNC110 — a process has no event here
            await asyncio.sleep(0.02)


async def test_one_that_hangs_is_not_left_behind_as_an_ended_process(tmp_path: Path):
    note = tmp_path / "pid"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(ConfigException, match="no answer within 4 s"):
        await ask(code, seconds=4)  # in which it has surely begun
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    os.kill(pid, 0)
    return state != "Z"
