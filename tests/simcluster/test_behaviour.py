"""From environment variables to a container's behaviour."""

from __future__ import annotations

from typing import Any

import pytest

from app.simcluster.inside.behaviour import Behaviour, Outcome, behaviour_of, expand
from app.simcluster.settings import Settings
from tests.simcluster.world import container

SETTINGS = Settings()


def behaviour(**env: Any) -> Behaviour:
    return behaviour_of(container(**env), SETTINGS)


def test_defaults_are_the_settings():
    assert behaviour() == Behaviour(5.0, 0.2, 5)


def test_every_variable_is_read():
    read = behaviour(
        seconds="1.5", exit_code=3, log_lines=7, pull_seconds=2, ignore_term=1, outcome="oom", node_back_seconds=9
    )
    assert read == Behaviour(1.5, 2.0, 7, "", 3, ignore_term=True, outcome=Outcome.OOM, node_back_seconds=9.0)


def test_a_text_replaces_the_default_lines_but_not_asked_ones():
    assert behaviour(log_text="hello").log_lines == 0
    assert behaviour(log_text="hello", log_lines=2).log_lines == 2


def test_lines_are_bounded():
    assert behaviour(log_lines=10**9).log_lines == SETTINGS.max_log_lines


@pytest.mark.parametrize("value", ["soon", "-1", "inf", "nan"])
def test_a_number_that_is_none_is_a_problem(value: str):
    assert behaviour(seconds=value).problem == f"SIM_SECONDS must be a number of at least 0, not {value!r}"


def test_an_unknown_outcome_names_the_allowed_ones():
    problem = behaviour(outcome="explode").problem
    assert problem.startswith("SIM_OUTCOME 'explode' is not known; allowed are exit, oom, ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("$(A)", "1"), ("$$(A)", "$(A)"), ("$(B)", "$(B)"), ("a$$(B) $$$$x", "a$(B) $$x"), ("$", "$"), ("$(A", "$(A")],
)
def test_expansion_is_that_of_kubernetes(text: str, expected: str):
    assert expand(text, {"A": "1"}) == expected


def test_variables_may_refer_to_earlier_ones():
    spec = {"env": [{"name": "N", "value": "7"}, {"name": "SIM_EXIT_CODE", "value": "$(N)"}]}
    assert behaviour_of(spec, SETTINGS).exit_code == 7
