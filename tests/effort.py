"""How much a test of random cases tries: a sample before each merge, many times as much each night."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

EFFORTS = pytest.mark.parametrize("effort", [1, pytest.param(20, marks=pytest.mark.nightly)])
"""For a test that takes `effort`, the factor."""


def run_machine(machine: type[RuleBasedStateMachine], examples: int, steps: int = 40) -> None:
    """Try so many sequences of so many steps."""
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=steps))
