"""`gpuyard submit` and `retry`: from words to the API's input, and on to the workload's end where that is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import typer

from app.client import submit_options as given
from app.client.attending import detaching, stay_to_the_end
from app.client.environment import variables
from app.client.flags import SUBMISSION, named_by
from app.client.options import Organization, Server, TokenFile, WorkloadId
from app.client.session import Session, session
from app.client.submission import gpu_requirements, project_id, submission
from app.client.views import dry_run_lines
from app.client.waiting import EXIT_UNKNOWN, exit_code


@dataclass(frozen=True)
class _Staying:
    """What is done after the submission, and how it is printed."""

    waits: bool
    follows: bool
    output: given.Output
    is_dry: bool = False

    @property
    def failure(self) -> int:
        """The exit code of the command's own failures: where one waits, 1 may be the container's."""
        return EXIT_UNKNOWN if self.waits or self.follows else 1


def submit(  # noqa: PLR0913 — one parameter a flag
    image: given.Image,
    words: given.Words = None,
    *,
    gpus: given.Gpus = None,
    cpu: given.Cpu = None,
    memory: given.Memory = None,
    shared_memory: given.SharedMemory = None,
    cuda: given.Cuda = None,
    gpu_product: given.GpuProducts = None,
    gpu_memory: given.GpuMemory = None,
    compute_capability: given.ComputeCapability = None,
    mig_profile: given.MigProfile = None,
    shared: given.Shared = False,
    mounts: given.Mounts = None,
    timeout: given.Timeout = None,
    start_timeout: given.StartTimeout = None,
    queue_timeout: given.QueueTimeout = None,
    max_retries: given.MaxRetries = None,
    priority: given.Priority = None,
    preemptible: given.Preemptible = False,
    env: given.Env = None,
    env_file: given.EnvFile = None,
    name: given.Name = None,
    labels: given.Labels = None,
    tag: given.Tag = None,
    command: given.Command = False,
    project: given.Project = None,
    idempotency_key: given.IdempotencyKey = None,
    dry_run: given.DryRun = False,
    wait: given.Wait = False,
    follow: given.Follow = False,
    output: given.Printed = "text",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Submit a workload and print its id and its Job's name.

    gpuyard submit nvidia/cuda:12.2.0-base-ubuntu22.04 --gpus 2 --timeout 1h -- nvidia-smi -L
    """
    staying = _staying(wait, follow, output, is_dry=dry_run)
    _check_command(words, is_given=command)
    limits = {"timeoutSeconds": timeout, "startTimeoutSeconds": start_timeout, "queueTimeoutSeconds": queue_timeout}
    needs = {"gpuCount": gpus, "cpu": cpu, "memory": memory, "sharedMemory": shared_memory, "cuda": cuda}
    turn = {"priority": priority, "preemptible": preemptible or None, "maxRetries": max_retries}
    names = {"image": image, "tag": tag, "name": name}
    wanted = {
        **names,
        **limits,
        **needs,
        "gpuRequirements": gpu_requirements(gpu_product, gpu_memory, compute_capability, mig_profile, is_shared=shared),
        **turn,
        "mounts": mounts,
        "labels": labels,
        "envVars": _environment(env_file or [], env or []),
        "idempotencyKey": idempotency_key or f"command-{uuid4()}",
    }
    with session(server, token_file, organization, failure=staying.failure) as here:
        _carry_out(here, staying, submission(wanted, words or [], are_command=command), project)


def retry(
    workload: WorkloadId,
    *,
    wait: given.Wait = False,
    follow: given.Follow = False,
    output: given.Printed = "text",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Submit the request of an ended workload once more, as a workload of its own."""
    staying = _staying(wait, follow, output)
    with session(server, token_file, organization, failure=staying.failure) as here:
        asked = {"id": workload, "idempotencyKey": f"command-{uuid4()}"}
        _stay(here, staying, here.api.ask("command/retry", {"input": asked})["retryWorkload"]["workload"])


def _staying(waits: bool, follows: bool, output: given.Output, *, is_dry: bool = False) -> _Staying:
    if follows and output != "text":
        raise typer.BadParameter("--follow prints the log; it goes with --output text only")
    if is_dry and (waits or follows or output == "id"):
        raise typer.BadParameter("--dry-run submits nothing; it goes with --output text and json only")
    return _Staying(waits, follows, output, is_dry)


def _check_command(words: Sequence[str] | None, *, is_given: bool) -> None:
    if is_given and not words:
        raise typer.BadParameter("--command needs ARGS: the command, behind --")


def _environment(files: Sequence[str], given: Sequence[str]) -> list[dict[str, str]]:
    try:
        found = variables([(name, _content(name)) for name in files], given, os.environ)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    return [{"name": name, "value": value} for name, value in found]


def _content(name: str) -> str:
    content = sys.stdin.buffer.read() if name == "-" else Path(name).expanduser().read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        msg = f"{name} is not UTF-8: {error}"
        raise ValueError(msg) from None


def _asked(here: Session, wanted: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    """The API's input."""
    attributed = {}
    if project is not None:
        attributed["projectId"] = project_id(here.of_organization("command/projects", {})["projects"], project)
    return {"organization": here.organization, **wanted, **attributed}


def _carry_out(here: Session, staying: _Staying, wanted: Mapping[str, Any], project: str | None) -> None:
    asked = _asked(here, wanted, project)
    if staying.is_dry:
        _tell(here, asked, staying.output)
    else:
        _stay(here, staying, _submitted(here, asked))


def _tell(here: Session, asked: Mapping[str, Any], output: given.Output) -> None:
    """What would become of it. Raises RefusedError in the command's own words."""
    with named_by(SUBMISSION):
        found = here.api.ask("command/dry_run", {"input": asked})["dryRun"]
    if output == "json":
        here.screen.json(found)
        return
    for line in dry_run_lines(found, datetime.now(UTC)):
        here.screen.result(line)


def _submitted(here: Session, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The accepted workload. Raises RefusedError in the command's own words."""
    with named_by(SUBMISSION):
        answer = here.api.ask("submit_workload", {"input": asked})["submitWorkload"]
    if not answer["isNew"]:
        here.screen.say("gpuyard: this key was used before; its workload is")
    accepted: dict[str, Any] = answer["workload"]
    return accepted


def _stay(here: Session, staying: _Staying, accepted: Mapping[str, Any]) -> None:
    """Print, and where it is wanted wait for the end and exit as it does."""
    workload_id = accepted["id"]
    if staying.follows:
        here.screen.say(f"{workload_id}  {accepted['jobName']}")
    elif staying.output == "text":
        here.screen.result(f"{workload_id}  {accepted['jobName']}")
    elif staying.output == "id":
        here.screen.result(workload_id)
    elif not staying.waits:
        here.screen.json(accepted)
    if not (staying.waits or staying.follows):
        return
    with detaching(here, workload_id):
        end = stay_to_the_end(here, workload_id, follows=staying.follows)
    if staying.output == "json":
        here.screen.json(here.workload("command/workload", workload_id))
    raise typer.Exit(exit_code(end))
