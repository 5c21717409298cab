"""Start the demo: folder, cluster, people, app; then say where everything is."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from app.clock import SystemClock
from app.config import Settings, settings_with
from app.demo.agent import DemoAgent, ensure_agent_token
from app.demo.cluster import SimulatedCluster, ensure_cluster, stop_cluster
from app.demo.folder import locked, write_private
from app.demo.seed import TOKEN_FILE, Credentials, ensure_people
from app.main import closing_ports, serve
from app.store.database import opened

_SUBMIT = "mutation($input: SubmitWorkloadInput!) { submitWorkload(input: $input) { workload { id jobName status } } }"


@dataclass(frozen=True)
class DemoOptions:
    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    ready_file: Path | None = None


async def run_demo(options: DemoOptions, console: Console) -> None:
    """Run until a signal. Raises FolderInUseError or ClusterDidNotStartError."""
    with locked(options.data):
        cluster = await ensure_cluster(options.data / "cluster")
        try:
            settings = _settings(options, cluster)
            await _create_namespace(settings)
            async with opened(settings.database_url):
                credentials = await ensure_people(options.data, SystemClock().now())
                token = await ensure_agent_token(options.data, SystemClock().now())
            agent = DemoAgent(cluster.kubeconfig, token, options.data / "agent.log")

            def ready(url: str) -> None:
                _announce(options, console, url, cluster, credentials)

            try:
                await serve(settings, ready, start_agents=agent.start)
            finally:
                agent.stop()
        finally:
            await stop_cluster(cluster)


def _settings(options: DemoOptions, cluster: SimulatedCluster) -> Settings:
    return settings_with(
        database_url=f"sqlite:///{options.data / 'gpuyard.db'}",
        kubeconfig=cluster.kubeconfig,
        in_cluster=False,
        host=options.host,
        port=options.port,
    )


async def _create_namespace(settings: Settings) -> None:
    """What an operator does once on a real cluster."""
    async with closing_ports(settings) as ports:
        for port in ports.values():
            await port.create_namespace()


def _announce(
    options: DemoOptions, console: Console, url: str, cluster: SimulatedCluster, credentials: Credentials
) -> None:
    facts = {
        "url": url,
        "graphql": f"{url}/graphql",
        "ws": f"{url.replace('http', 'ws', 1)}/graphql",
        "kubeconfig": str(cluster.kubeconfig),
        "token_file": str(options.data / TOKEN_FILE),
        **credentials,
    }
    if options.ready_file is not None:
        write_private(options.ready_file, facts)
    _print(console, facts)


def _print(console: Console, facts: dict[str, Any]) -> None:
    def say(text: str = "") -> None:
        console.print(text, soft_wrap=True, highlight=False, markup=False)

    say(f"\nGPUYard runs at {facts['url']} on a simulated cluster. Stop it with Ctrl-C.\n")
    for user in facts["users"]:
        say(f"  {user['role']:<8} {user['email']:<22} {user['password']}")
    say(f"\n  token    {facts['token']}")
    say("\nSubmit a workload with the command, from another terminal:\n")
    say(_command(facts))
    say("\nOr with anything that speaks HTTP:\n")
    say(_curl(facts))
    say(f"\nLook at the cluster:\n\n  kubectl --kubeconfig {facts['kubeconfig']} get nodes,jobs,pods -A\n")


def _command(facts: dict[str, Any]) -> str:
    settings = {
        "GPUYARD_SERVER": facts["url"],
        "GPUYARD_TOKEN_FILE": facts["token_file"],
        "GPUYARD_ORGANIZATION": facts["organization"],
    }
    here = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
    return f"  export {here}\n  {_called()} submit nvidia/cuda:12.2.0-base-ubuntu22.04 --gpus 1 --wait"


def _called() -> str:
    """The command as this one was typed; in a checkout it is not on the PATH."""
    typed = Path(sys.argv[0])
    return "gpuyard" if shutil.which("gpuyard") or typed.name != "gpuyard" else shlex.quote(str(typed.absolute()))


def _curl(facts: dict[str, Any]) -> str:
    variables = {
        "organization": facts["organization"],
        "image": "nvidia/cuda:12.2.0-base-ubuntu22.04",
        "tag": "latest",
        "gpuCount": 1,
        "timeoutSeconds": 3600,
        "envVars": [{"name": "MODEL_PATH", "value": "/data/model"}, {"name": "BATCH_SIZE", "value": "32"}],
    }
    body = json.dumps({"query": _SUBMIT, "variables": {"input": variables}})
    return (
        f"  curl -s {facts['graphql']} -H 'Authorization: Bearer {facts['token']}' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )
