"""`python -m agent run --simulated`: one process that speaks for a whole simulated fleet."""

from __future__ import annotations

from pathlib import Path

from agent.clock import SystemClock
from agent.running import Agent
from agent.settings import Settings, SettingsError
from agent.simulated.cluster import ClusterFleet
from agent.simulated.collector import FleetCollector
from agent.simulated.servers import FleetError, InventedFleet

_COURIERS = 4  # they share the servers, so that a slow answer holds up a part of them


def run_simulated(settings: Settings, whose: str) -> int:
    """Speak for simulated servers: those of a kubeconfig's simulated cluster, or so many. Raises SettingsError."""
    try:
        fleet = InventedFleet(int(whose)) if whose.isdecimal() else ClusterFleet(Path(whose))
    except FleetError as error:
        raise SettingsError(str(error)) from None
    clock = SystemClock()
    agent = Agent(settings, clock, couriers=_COURIERS)
    agent.run(FleetCollector(fleet, clock, lambda: settings.interval, agent.node))
    return 0
