"""`gpuyard submit`: from its words to the API's input, and on to the workload's end where that is wanted."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

import typer

from app.client.attending import detaching, wait_for
from app.client.environment import variables
from app.client.flags import SUBMISSION, named_by
from app.client.options import Organization, Server, TokenFile, duration
from app.client.session import Session, session
from app.client.submission import project_id, submission
from app.client.waiting import EXIT_UNKNOWN, exit_code

Output = Literal["text", "id", "json"]


@dataclass(frozen=True)
class _Staying:
    """What is done after the submission, and how it is printed."""

    waits: bool
    output: Output

    @property
    def failure(self) -> int:
        """The exit code of the command's own failures: where one waits, 1 may be the container's."""
        return EXIT_UNKNOWN if self.waits else 1


def submit(  # noqa: PLR0913 — one parameter a flag
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="The container image.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="The container's arguments; put -- before them.")
    ] = None,
    *,
    gpus: Annotated[int | None, typer.Option("--gpus", "-g", help="GPUs, all on one server. 1 unless given.")] = None,
    timeout: Annotated[int | None, duration("Run limit. 1h unless given.")] = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", help="NAME=value, or NAME for the value it has here.")
    ] = None,
    env_file: Annotated[list[str] | None, typer.Option(help="File of such lines; - is standard input.")] = None,
    name: Annotated[str | None, typer.Option(help="For people. The image's unless given.")] = None,
    tag: Annotated[str | None, typer.Option(help="The image's tag, if IMAGE has none.")] = None,
    command: Annotated[
        bool, typer.Option("--command", help="ARGS are the command, instead of the image's entrypoint.")
    ] = False,
    project: Annotated[str | None, typer.Option(help="Slug of the project it counts for.")] = None,
    cpu: Annotated[str | None, typer.Option(help="As 8 or 500m.")] = None,
    memory: Annotated[str | None, typer.Option(help="As 64Gi; also its limit.")] = None,
    start_timeout: Annotated[int | None, duration("Limit of starting, image pull included. 30m unless given.")] = None,
    queue_timeout: Annotated[int | None, duration("Limit of waiting for a server. None unless given.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="The same key and request again is the first workload again.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the end; exit with the container's code.")] = False,
    output: Annotated[Output, typer.Option("--output", "-o", help="How the answer is printed.")] = "text",
    server: Server = None,
    token_file: TokenFile = None,
    organization: Organization = None,
) -> None:
    """Submit a workload and print its id and its Job's name.

    gpuyard submit nvidia/cuda:12.2.0-base-ubuntu22.04 --gpus 2 --timeout 1h -- nvidia-smi -L
    """
    staying = _Staying(wait, output)
    if command and not words:
        raise typer.BadParameter("--command needs ARGS: the command, behind --")
    wanted = {
        "image": image,
        "tag": tag,
        "name": name,
        "gpuCount": gpus,
        "timeoutSeconds": timeout,
        "startTimeoutSeconds": start_timeout,
        "queueTimeoutSeconds": queue_timeout,
        "cpu": cpu,
        "memory": memory,
        "envVars": _environment(env_file or [], env or []),
        "idempotencyKey": idempotency_key or f"command-{uuid4()}",
    }
    with session(server, token_file, organization, failure=staying.failure) as here:
        asked = submission(wanted, words or [], are_command=command)
        _stay(here, staying, _submitted(here, asked, project))


def _environment(files: Sequence[str], given: Sequence[str]) -> list[dict[str, str]]:
    try:
        found = variables([(name, _content(name)) for name in files], given, os.environ)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(str(error)) from None
    return [{"name": name, "value": value} for name, value in found]


def _content(name: str) -> str:
    return sys.stdin.read() if name == "-" else Path(name).expanduser().read_text(encoding="utf-8")


def _submitted(here: Session, wanted: Mapping[str, Any], project: str | None) -> dict[str, Any]:
    """The accepted workload. Raises RefusedError in the command's own words."""
    attributed = {}
    if project is not None:
        attributed["projectId"] = project_id(here.of_organization("command/projects", {})["projects"], project)
    asked = {"organization": here.organization, **wanted, **attributed}
    with named_by(SUBMISSION):
        answer = here.api.ask("submit_workload", {"input": asked})["submitWorkload"]
    if not answer["isNew"]:
        here.screen.say("gpuyard: this key was used before; its workload is")
    accepted: dict[str, Any] = answer["workload"]
    return accepted


def _stay(here: Session, staying: _Staying, accepted: Mapping[str, Any]) -> None:
    """Print, and where it is wanted wait for the end and exit as it does."""
    workload_id = accepted["id"]
    if staying.output == "text":
        here.screen.result(f"{workload_id}  {accepted['jobName']}")
    elif staying.output == "id":
        here.screen.result(workload_id)
    elif not staying.waits:
        here.screen.json(accepted)
    if not staying.waits:
        return
    with detaching(here, workload_id):
        end = wait_for(here, workload_id)
    if staying.output == "json":
        here.screen.json(here.workload("command/workload", workload_id))
    raise typer.Exit(exit_code(end))
