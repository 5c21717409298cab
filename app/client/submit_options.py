"""The options of `gpuyard submit`: how each is spelled, read and explained. None stands for not given."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from app.client.options import LIMITS, PRIORITIES, duration, option_of, priority
from app.client.pairs import label, mount

_NEEDS = "What it needs"

Image = Annotated[str, typer.Argument(metavar="IMAGE", help="The container image.")]
Words = Annotated[
    list[str] | None, typer.Argument(metavar="ARGS", help="The container's arguments; put -- before them.")
]
Gpus = Annotated[
    int | None, typer.Option("--gpus", "-g", help="GPUs, all on one server. 1 unless given.", rich_help_panel=_NEEDS)
]
Cpu = Annotated[str | None, typer.Option(help="As 8 or 500m.", rich_help_panel=_NEEDS)]
Memory = Annotated[str | None, typer.Option(help="As 64Gi; also its limit.", rich_help_panel=_NEEDS)]
SharedMemory = Annotated[
    str | None, typer.Option(help="Size of /dev/shm, as 8Gi; part of the memory.", rich_help_panel=_NEEDS)
]
Cuda = Annotated[
    str | None, typer.Option(help="CUDA version, as 12.4. What the image says unless given.", rich_help_panel=_NEEDS)
]
GpuProducts = Annotated[
    list[str] | None,
    typer.Option("--gpu-product", help="As H100 or 'A100 80GB'; again for others that do too.", rich_help_panel=_NEEDS),
]
GpuMemory = Annotated[str | None, typer.Option(help="Least memory of each GPU, as 40G.", rich_help_panel=_NEEDS)]
ComputeCapability = Annotated[str | None, typer.Option(help="The least, as 8.0.", rich_help_panel=_NEEDS)]
MigProfile = Annotated[
    str | None, typer.Option(help="MIG slices, as 1g.10gb, instead of whole GPUs.", rich_help_panel=_NEEDS)
]
Shared = Annotated[
    bool, typer.Option("--shared", help="A share of a GPU instead of a whole one.", rich_help_panel=_NEEDS)
]
Mounts = Annotated[
    list[Any] | None, option_of(mount, "--mount", "NAME:PATH[:ro]", "Volume and where to mount it.", _NEEDS)
]
Timeout = Annotated[int | None, duration("--timeout", "Run limit. 1h unless given.")]
StartTimeout = Annotated[
    int | None, duration("--start-timeout", "Limit of starting, image pull included. 30m unless given.")
]
QueueTimeout = Annotated[int | None, duration("--queue-timeout", "Limit of waiting for a server. None unless given.")]
MaxRetries = Annotated[
    int | None,
    typer.Option(help="How often it may run again after a server failed it. 0 unless given.", rich_help_panel=LIMITS),
]
Priority = Annotated[
    str | None,
    typer.Option(parser=priority, metavar="PRIORITY", help=f"{', '.join(PRIORITIES)}. medium unless given."),
]
Preemptible = Annotated[
    bool, typer.Option("--preemptible", help="It may be stopped, and started anew later, to make room for others.")
]
Env = Annotated[list[str] | None, typer.Option("--env", "-e", help="NAME=value, or NAME for the value it has here.")]
EnvFile = Annotated[list[str] | None, typer.Option(help="File of such lines; - is standard input.")]
Name = Annotated[str | None, typer.Option(help="For people. The image's unless given.")]
Labels = Annotated[list[Any] | None, option_of(label, "--label", "KEY=VALUE", "For finding its Job and pod.", None)]
Tag = Annotated[str | None, typer.Option(help="The image's tag, if IMAGE has none.")]
Command = Annotated[bool, typer.Option("--command", help="ARGS are the command, instead of the image's entrypoint.")]
Project = Annotated[str | None, typer.Option(help="Slug of the project it counts for.")]
IdempotencyKey = Annotated[str | None, typer.Option(help="The same key and request is the first workload again.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the end; exit with the container's code.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="The same, and print its log as it comes.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Submit nothing; say where and when it would run now.")]
Output = Literal["text", "id", "json"]
Printed = Annotated[Output, typer.Option("--output", "-o", help="How the answer is printed.")]
