"""The reference says what the code says."""

from __future__ import annotations

import inspect
import re
import runpy

import pytest
from tests.docs.pages import ROOT

import eosfw
from eosfw.errors import ExitCode
from eosfw.state.steps import STARTUP, TRANSACTION, TaskStep

REFERENCE = ROOT / "docs" / "reference"
GENERATED = {
    "broker_page.py",
    "command_line_page.py",
    "connect_api_page.py",
    "connectors_page.py",
    "errors_page.py",
    "faults_page.py",
    "guarantees_page.py",
    "hooks_page.py",
    "metrics_page.py",
    "modules_page.py",
    "properties_page.py",
    "pytest_eos_page.py",
    "rights_page.py",
}


@pytest.mark.parametrize("script", sorted(GENERATED))
def test_a_page_made_from_the_code_is_up_to_date(script):
    """Run the script after changing what it describes."""
    made = runpy.run_path(str(REFERENCE / script))

    assert made["PAGE"].read_text(encoding="utf-8") == made["page"]()


def test_no_generated_page_is_left_out():
    """A new script beside the pages is checked, too."""
    assert {path.name for path in REFERENCE.glob("*_page.py")} == GENERATED


def test_every_name_an_author_imports_is_in_the_reference():
    """Every public name of the package, each with its members."""
    text = (REFERENCE / "connectors.md").read_text(encoding="utf-8")
    kinds = {name for name in eosfw.__all__ if inspect.isclass(getattr(eosfw, name))}

    assert len(kinds) > 15
    assert {name for name in kinds if f"### {name}\n" not in text and f"| `{name}(" not in text} == set()
    members = {*dir(eosfw.SourceConnector), *dir(eosfw.SourceTask), *dir(eosfw.TransactionContext), "record_offsets"}
    assert {name for name in members if name[0] != "_" and not re.search(rf"\| `{name}[(:]", text)} == set()


def test_every_error_has_a_remedy():
    """Every error has a remedy on the page, and every remedy belongs to an existing error."""
    made = runpy.run_path(str(REFERENCE / "errors_page.py"))

    assert set(made["REMEDIES"]) == {one.__name__ for one in made["classes"]()}


@pytest.mark.parametrize("code", ExitCode)
def test_every_exit_code_is_in_the_reference(code):
    """A script that runs the command can tell all endings apart."""
    assert f"| {int(code)} |" in (REFERENCE / "exit-codes.md").read_text(encoding="utf-8")


def test_the_steps_that_fencing_is_explained_by_are_those_of_the_code():
    """The leader's and a task's, in the order they are done."""
    text = (ROOT / "docs" / "explanation" / "how-fencing-works.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    steps = tuple(TaskStep)
    leader = steps[steps.index(TaskStep.CLAIM_LEADERSHIP) : steps.index(TaskStep.WRITE_TASK_COUNT) + 1]

    assert named == [step.value for step in (*leader, *STARTUP)]


@pytest.mark.parametrize("step", [*STARTUP, *TRANSACTION], ids=lambda step: step.value)
def test_every_step_a_zombie_can_sleep_at_is_in_the_reference(step):
    """The names that markers take."""
    assert f"`{step.value}`" in (REFERENCE / "pytest-eos.md").read_text(encoding="utf-8")
