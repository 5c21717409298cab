"""The command against the running product: submit, list, get, wait, cancel, and what is said when it can't be."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.command import Done, begun, ended, first_line, heard, run
from tests.e2e.product import Product

pytestmark = pytest.mark.asyncio(loop_scope="session")
SIMULATED = "busybox:1.36"


async def submitted(product: Product, *words: str) -> str:
    done = await run(product, "submit", SIMULATED, "-o", "id", *words)
    assert done.code == 0, done.err
    return done.out.strip()


async def test_submit_prints_id_and_job(shared_product: Product):
    done = await run(shared_product, "submit", SIMULATED, "--env", "SIM_SECONDS=0.1")
    workload_id, job = done.out.split()
    assert (done.code, done.err) == (0, "")
    assert job == f"gw-{workload_id.replace('-', '')}-1"


async def test_every_flag_reaches_the_workload(shared_product: Product, tmp_path: Path):
    (tmp_path / "env").write_text("SIM_SECONDS=0.1\nA=from file\n")
    flags = [
        *("--gpus", "2", "--timeout", "1h30m", "--start-timeout", "10m", "--queue-timeout", "60", "--name", "train"),
        *("--project", "vision", "--cpu", "500m", "--memory", "2Gi", "--tag", "latest", "--idempotency-key", "flags"),
        *("--priority", "very-high", "--preemptible"),
        *("--max-retries", "1", "--shared-memory", "1Gi", "--cuda", "12.2", "--label", "team=a", "--label", "b="),
        *("--gpu-product", "H100", "--gpu-product", "A100 80GB", "--gpu-memory", "40G", "--compute-capability", "8.0"),
        *("--env-file", str(tmp_path / "env"), "--env", "A=b=c $HOME", "-e", "INHERITED", "--", "-x", "echo hi"),
    ]
    first = await run(shared_product, "submit", SIMULATED, "-o", "id", *flags, INHERITED="here")
    again = await run(shared_product, "submit", SIMULATED, "-o", "id", *flags, INHERITED="here")
    assert first.out == again.out
    assert "key was used before" in again.err
    shown = json.loads((await run(shared_product, "get", first.out.strip(), "-o", "json")).out)
    expected = {
        "imageReference": SIMULATED,
        "gpuCount": 2,
        "timeoutSeconds": 5400,
        "startTimeoutSeconds": 600,
        "queueTimeoutSeconds": 60,
        "name": "train",
        "cpu": "500m",
        "memoryBytes": 2 * 2**30,
        "sharedMemoryBytes": 2**30,
        "priority": "VERY_HIGH",
        "preemptible": True,
        "maxRetries": 1,
        "cuda": "12.2",
        "gpuRequirements": {
            "products": ["H100", "A100 80GB"],
            "memoryBytes": 40 * 10**9,
            "computeCapability": "8.0",
            "migProfile": None,
            "shared": False,
        },
        "labels": [{"key": "team", "value": "a"}, {"key": "b", "value": ""}],
        "command": [],
        "args": ["-x", "echo hi"],
    }
    assert {name: shown[name] for name in expected} == expected
    assert shown["project"]["slug"] == "vision"
    variables = {variable["name"]: variable["value"] for variable in shown["envVars"]}
    assert variables == {"SIM_SECONDS": "0.1", "A": "b=c $HOME", "INHERITED": "here"}


async def test_words_are_the_command_where_that_is_said(shared_product: Product):
    workload_id = await submitted(shared_product, "--command", "-e", "SIM_SECONDS=0.1", "--", "sh", "-c", "true")
    shown = json.loads((await run(shared_product, "get", workload_id, "-o", "json")).out)
    assert (shown["command"], shown["args"]) == (["sh", "-c", "true"], [])


ENDS = [
    (["-e", "SIM_EXIT_CODE=0"], 0, "completed  ended with exit code 0"),
    (["-e", "SIM_EXIT_CODE=3"], 3, "completed  ended with exit code 3"),
    (["-e", "SIM_OUTCOME=oom"], 70, "failed     killed because it used more than its memory limit"),
    (["-e", "SIM_SECONDS=600", "--timeout", "2s"], 124, "timeout    exceeded its run limit of 2 s"),
]


@pytest.mark.parametrize(("words", "code", "told"), ENDS, ids=[str(code) for _, code, _ in ENDS])
async def test_wait_exits_as_the_workload_did(shared_product: Product, words: list[str], code: int, told: str):
    done = await run(shared_product, "submit", SIMULATED, "--wait", "-e", "SIM_SECONDS=0.2", *words)
    lines = done.err.splitlines()
    assert done.code == code, done.err
    assert lines[0] == "pending    accepted; waits for 1 free GPU on one server"
    assert lines[-1].startswith(told)
    assert done.out.split()[1].startswith("gw-")


async def test_wait_and_json_prints_the_end(shared_product: Product):
    words = ["--wait", "-o", "json", "-e", "SIM_SECONDS=0.2", "-e", "SIM_EXIT_CODE=4"]
    done = await run(shared_product, "submit", SIMULATED, *words)
    assert (done.code, json.loads(done.out)["exitCode"]) == (4, 4)


async def test_a_cancelled_workload_ends_the_wait(shared_product: Product):
    workload_id = await submitted(shared_product, "-e", "SIM_SECONDS=600")
    waiting = await begun(shared_product, "wait", workload_id)
    await shared_product.until(workload_id, status="RUNNING")
    done = await run(shared_product, "cancel", workload_id)
    assert done.code == 0
    assert done.out.startswith(f"{workload_id}  running (stopping): cancel asked for by owner@example.org")
    end = await ended(waiting)
    assert end.code == 143
    assert "cancelled  cancelled by owner@example.org" in end.err


async def test_ctrl_c_lets_the_workload_go_on(shared_product: Product):
    waiting = await begun(shared_product, "submit", SIMULATED, "--wait", "-e", "SIM_SECONDS=600")
    workload_id = (await first_line(waiting)).split()[0]
    await shared_product.until(workload_id, status="RUNNING")
    waiting.send_signal(signal.SIGINT)
    done = await ended(waiting)
    assert done.code == 130
    assert f"`gpuyard cancel {workload_id}` ends it" in done.err
    assert "Traceback" not in done.err
    assert (await shared_product.workload(workload_id))["status"] == "RUNNING"
    await run(shared_product, "cancel", workload_id)


async def test_list_and_its_filters(shared_product: Product):
    workload_id = await submitted(shared_product, "-e", "SIM_SECONDS=600", "--name", "in the list")
    await shared_product.until(workload_id, status="RUNNING")
    running = await run(shared_product, "list", "--status", "running,pending", "--limit", "1")
    header, row = running.out.splitlines()
    assert header.split()[:3] == ["ID", "NAME", "STATUS"]
    assert row.startswith(f"{workload_id}   in the list   running")
    everything = json.loads((await run(shared_product, "list", "-o", "json", "--limit", "0")).out)
    assert everything[0]["id"] == workload_id
    found = await run(shared_product, "list", "--search", "the LIST", "--filter", "gpuCount==1", "--sort", "-createdAt")
    assert [line.split()[0] for line in found.out.splitlines()] == ["ID", workload_id]
    await run(shared_product, "cancel", workload_id)
    nothing = await run(shared_product, "list", "--filter", "name==nothing of this name")
    assert says(nothing, 0, "no workloads in demo, or none that match")
    wrong = await run(shared_product, "list", "--filter", "gpuCount=>2")
    assert says(wrong, 1, "gpuyard: --filter: ")
    assert says(await run(shared_product, "list", "--sort", "mood"), 1, "gpuyard: --sort: Value 'MOOD' does not exist")
    none = await run(shared_product, "list", "--organization", "demo", "--status", "running", "--status", "timeout")
    assert workload_id not in none.out


async def test_get_by_job_name_tells_everything(shared_product: Product):
    workload_id = await submitted(shared_product, "-e", "SIM_SECONDS=0.1", "-e", "SIM_EXIT_CODE=3")
    ended_one = await shared_product.until(workload_id, status="COMPLETED")
    done = await run(shared_product, "get", ended_one["jobName"])
    assert done.code == 0, done.err
    for told in (workload_id, "ended with exit code 3", ended_one["server"], ended_one["gpus"][0], "SIM_SECONDS"):
        assert told in done.out
    assert "ATTEMPT   SERVER" in done.out
    assert any(line.split()[2:5] == ["submitted", "pending", "accepted;"] for line in done.out.splitlines())


async def test_logs_of_what_ended(shared_product: Product):
    words = (
        "-e",
        "SIM_SECONDS=0.2",
        "-e",
        "SIM_LOG_LINES=0",
        "-e",
        "SIM_LOG_TEXT=one\ntwo \x1b[31mred\x1b[0m\nthree\n",
    )
    workload_id = await submitted(shared_product, *words)
    await shared_product.until(workload_id, status="COMPLETED")
    done = await run(shared_product, "logs", workload_id)
    assert (done.code, done.out, done.err) == (0, "one\ntwo \x1b[31mred\x1b[0m\nthree\n", "")
    assert (await run(shared_product, "logs", workload_id, "--tail", "1", "--attempt", "1")).out == "three\n"
    assert says(
        await run(shared_product, "logs", workload_id, "--attempt", "2"), 1, "gpuyard: --attempt: ", "attempt 2"
    )


async def test_logs_that_can_not_be_had(shared_product: Product):
    workload_id = await submitted(shared_product, "-e", "SIM_OUTCOME=never-starts")
    await shared_product.until(workload_id, phase="INITIALIZING")
    assert says(await run(shared_product, "logs", workload_id), 1, "gpuyard: The container has not started")
    await run(shared_product, "cancel", workload_id)


NUMBERED = ("-e", "SIM_SECONDS=3", "-e", "SIM_LOG_LINES=30")


async def test_follow_prints_the_log_and_exits_as_the_container(shared_product: Product):
    done = await run(shared_product, "submit", SIMULATED, "--follow", *NUMBERED, "-e", "SIM_EXIT_CODE=3")
    stored = await run(shared_product, "logs", done.err.split()[0])
    assert done.code == 3, done.err
    assert len(done.out.splitlines()) == 30
    assert done.out == stored.out
    told = [line.split()[0] for line in done.err.splitlines()[1:]]
    assert told[0] == "pending"
    assert told[-1] == "completed"
    assert len(set(done.err.splitlines())) == len(done.err.splitlines())


async def test_a_followed_log_loses_and_doubles_nothing_over_a_restart(fresh_product: Product):
    await fresh_product.start()
    workload_id = await submitted(fresh_product, "-e", "SIM_SECONDS=600", "-e", "SIM_LOG_LINES=6000")
    following = await begun(fresh_product, "logs", "-f", workload_id)
    first = await first_line(following)
    fresh_product.kill()
    said = await heard(following, "connecting again")
    await fresh_product.start_again()
    await fresh_product.exit(workload_id)
    done = await ended(following)
    stored = await run(fresh_product, "logs", workload_id)
    assert done.code == 0, done.err
    assert first + done.out == stored.out
    assert len(stored.out.splitlines()) == 6000
    assert "missing" not in said + done.err


async def test_retry_runs_the_request_once_more(shared_product: Product):
    words = ("-e", "SIM_SECONDS=0.2", "-e", "SIM_EXIT_CODE=5", "-e", "SIM_LOG_LINES=2")
    old = await run(shared_product, "submit", SIMULATED, "--wait", *words)
    new = await run(shared_product, "retry", old.out.split()[0], "--follow")
    assert (new.code, len(new.out.splitlines())) == (5, 2), new.err
    assert new.err.split()[0] != old.out.split()[0]
    running = await submitted(shared_product, "-e", "SIM_SECONDS=600")
    assert says(await run(shared_product, "retry", running), 1, f"gpuyard: workload {running}")
    await run(shared_product, "cancel", running)


async def test_some_cancels_fail(shared_product: Product):
    running = await submitted(shared_product, "-e", "SIM_SECONDS=600")
    over = await submitted(shared_product, "-e", "SIM_SECONDS=0.1")
    await shared_product.until(over, status="COMPLETED")
    nobody = "00000000-0000-0000-0000-000000000000"
    done = await run(shared_product, "cancel", over, nobody, running)
    assert done.code == 1
    assert [line.split()[0] for line in done.out.splitlines()] == [running]
    assert f"workload {over} has ended already: completed" in done.err
    assert f"no workload {nobody}" in done.err


async def test_suspended_it_gives_its_gpus_back_and_resumed_it_starts_anew(shared_product: Product):
    workload_id = await submitted(shared_product, "-e", "SIM_SECONDS=600")
    await shared_product.until(workload_id, status="RUNNING")
    done = await run(shared_product, "suspend", workload_id)
    assert done.code == 0, done.err
    assert done.out.startswith(f"{workload_id}  running (stopping): suspend asked for by owner@example.org")
    await shared_product.until(workload_id, phase="SUSPENDED")
    shown = json.loads((await run(shared_product, "get", workload_id, "-o", "json")).out)
    assert (shown["status"], shown["reason"], shown["server"], shown["gpus"]) == ("PENDING", "HELD", None, [])
    [attempt] = shown["attempts"]
    assert (attempt["reason"], attempt["exitCode"]) == ("SUSPENDED", 143)
    low = await run(shared_product, "prioritize", "low", workload_id)
    assert low.out == f"{workload_id}  pending (suspended): low priority\n"
    assert (await run(shared_product, "resume", workload_id)).code == 0
    again = await shared_product.until(workload_id, status="RUNNING")
    assert again["jobName"].endswith("-2")
    await run(shared_product, "cancel", workload_id)


def says(done: Done, code: int, *words: str) -> bool:
    return done.code == code and done.out == "" and all(word in done.err for word in words)


async def test_refusals_speak_of_flags(shared_product: Product):
    done = await run(
        shared_product, "submit", SIMULATED, "--gpus", "0", "--tag", "1.37", "-e", "CUDA_VISIBLE_DEVICES=0"
    )
    assert says(
        done, 1, "gpuyard: --tag: the image already", "gpuyard: --gpus: must be between", "gpuyard: --env: CUDA"
    )
    mount = await run(shared_product, "submit", SIMULATED, "--mount", "nowhere:/data:ro")
    assert says(mount, 1, "gpuyard: --mount: ", "nowhere")
    large = await run(shared_product, "submit", SIMULATED, "--gpus", "99999999999")
    assert says(large, 1, "gpuyard: --gpus: Int cannot represent")
    assert says(await run(shared_product, "submit", " "), 1, "gpuyard: IMAGE: an image is required")
    waited = await run(shared_product, "submit", SIMULATED, "--gpus", "100", "--wait")
    assert says(waited, 125, "gpuyard: --gpus: ")
    no_project = await run(shared_product, "submit", SIMULATED, "--project", "nowhere")
    assert says(no_project, 1, "no project 'nowhere'; there are: speech, vision")


async def test_who_and_where_must_be_right(shared_product: Product):
    assert says(await run(shared_product, "list", GPUYARD_TOKEN="wrong"), 1, "unknown, expired", "from GPUYARD_TOKEN)")
    several = await run(shared_product, "list", GPUYARD_ORGANIZATION="")
    assert says(several, 1, "--organization", "demo, empty, paused")
    assert says(await run(shared_product, "list", "--organization", "paused"), 1, "not enabled for paused")
    viewer = await run(shared_product, "list", GPUYARD_TOKEN=shared_product.facts["viewer_token"])
    assert says(viewer, 1, "gpuyard: ")
    no_address = await run(shared_product, "list", "--server", shared_product.facts["url"] + "/login")
    assert says(no_address, 1, "instead of GraphQL; is --server GPUYard's address?")


async def test_any_locale_and_any_bytes(shared_product: Product, tmp_path: Path):
    plain = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    log = ("-e", "SIM_SECONDS=0.1", "-e", "SIM_LOG_LINES=0", "-e", "SIM_LOG_TEXT=漢")
    workload_id = await submitted(shared_product, "--name", "é漢", *log)
    await shared_product.until(workload_id, status="COMPLETED")
    assert "é漢" in (await run(shared_product, "list", "--limit", "1", **plain)).out
    assert (await run(shared_product, "logs", workload_id, **plain)).out == "漢\n"
    (tmp_path / "env").write_bytes(b"A=\xff\n")
    assert says(await run(shared_product, "submit", SIMULATED, "--env-file", str(tmp_path / "env")), 2, "UTF-8")
    assert says(
        await run(shared_product, "submit", SIMULATED, "-e", "A=\udcff"), 1, "gpuyard: what was given is not UTF-8"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["get", "x"],
        ["list", "--status", "done"],
        ["submit"],
        ["submit", SIMULATED, "--timeout", "soon"],
        ["submit", SIMULATED, "--env", "NOT_SET_ANYWHERE"],
        ["submit", SIMULATED, "--env-file", "no-such-file"],
        ["submit", SIMULATED, "--command"],
        ["submit", SIMULATED, "--mount", "data"],
        ["submit", SIMULATED, "--follow", "-o", "json"],
        ["logs", "-f", "--tail", "3", "00000000-0000-0000-0000-000000000000"],
    ],
)
async def test_wrong_use_is_told_apart(shared_product: Product, words: list[str]):
    assert says(await run(shared_product, *words), 2, "Usage: ")


async def test_waiting_outlasts_a_restart_of_the_service(fresh_product: Product):
    await fresh_product.start()
    waiting = await begun(fresh_product, "submit", SIMULATED, "--wait", "-e", "SIM_SECONDS=600")
    workload_id = (await first_line(waiting)).split()[0]
    await fresh_product.until(workload_id, status="RUNNING")
    fresh_product.kill()
    await heard(waiting, "waiting for it")
    await fresh_product.exit(workload_id, code=7)
    await fresh_product.start_again()
    done = await ended(waiting)
    assert done.code == 7
    assert "it answers again" in done.err
    assert [line.split()[0] for line in done.err.splitlines()].count("completed") == 1
