"""Settings come from the environment; what is wrong is said all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.settings import Settings, SettingsError, settings_from

RIGHT = {"GPUYARD_URL": "https://gpuyard.example.com/", "GPUYARD_AGENT_TOKEN": "secret", "NODE_NAME": "gpu-1"}


def complaints(**changes: str) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        settings_from({**RIGHT, **changes})
    return str(caught.value).splitlines()


def test_what_is_not_said_has_a_default() -> None:
    settings = settings_from(RIGHT)
    assert (settings.url, settings.token(), settings.node) == ("https://gpuyard.example.com", "secret", "gpu-1")
    assert (settings.interval, settings.buffer, settings.metrics) == (Settings.interval, Settings.buffer, None)


def test_everything_may_be_said() -> None:
    settings = settings_from(
        {
            **RIGHT,
            "GPUYARD_AGENT_INTERVAL": "2.5",
            "GPUYARD_AGENT_BUFFER": "100",
            "GPUYARD_AGENT_METRICS": "[::]:9410",
            "GPUYARD_KUBELET_SOCKET": "/other/kubelet.sock",
            "GPUYARD_LOG_LEVEL": "DEBUG",
        }
    )
    assert (settings.interval, settings.buffer, settings.metrics) == (2.5, 100, ("::", 9410))
    assert (settings.kubelet_socket, settings.log_level) == (Path("/other/kubelet.sock"), "debug")


def test_a_token_in_a_file_is_read_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    environment = {"GPUYARD_URL": RIGHT["GPUYARD_URL"], "GPUYARD_AGENT_TOKEN_FILE": str(file)}
    settings = settings_from(environment)
    assert settings.token() == "first"
    file.write_text("second\n")
    assert settings.token() == "second"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"GPUYARD_URL": ""}, "GPUYARD_URL is not set"),
        ({"GPUYARD_URL": "gpuyard.example.com"}, "an address such as https://gpuyard.example.com is wanted"),
        ({"GPUYARD_AGENT_TOKEN": ""}, "neither is set"),
        ({"GPUYARD_AGENT_TOKEN_FILE": "token"}, "both are set"),
        ({"GPUYARD_AGENT_INTERVAL": "0.1"}, "GPUYARD_AGENT_INTERVAL is '0.1': 1 to 300 seconds are possible"),
        ({"GPUYARD_AGENT_INTERVAL": "often"}, "GPUYARD_AGENT_INTERVAL is 'often'"),
        ({"GPUYARD_AGENT_BUFFER": "0"}, "at least 1 is wanted"),
        ({"GPUYARD_AGENT_METRICS": "9410"}, "an address and a port are wanted, such as 0.0.0.0:9410"),
        ({"GPUYARD_LOG_LEVEL": "loud"}, "it is one of debug, info, warning, error"),
        ({"GPUYARD_CA_FILE": "nowhere.pem"}, "there is no such file"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, str], words: str) -> None:
    (complaint,) = complaints(**changes)
    assert words in complaint


def test_all_that_is_wrong_is_said_at_once() -> None:
    assert len(complaints(GPUYARD_URL="", GPUYARD_AGENT_TOKEN="", GPUYARD_AGENT_BUFFER="x")) == 3
