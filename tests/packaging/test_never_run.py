"""Continuous integration fails for a test that ran in no environment, whatever the reason."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "never_run.py"
CASE = '<testcase classname="{0}" name="{1}">{2}</testcase>'
CHOSEN = "backend 'toy' declares abort, so how it refuses that is not asked"
ROWS = ["tests/a/test_x.py::test_one", "tests/a/test_x.py::test_two[1]", "tests/a/test_x.py::TestAll::test_three"]


@pytest.fixture
def judged(tmp_path):
    """Judge what environments did (name of a test to why it was skipped, None if it ran) with these tests there."""

    def judge(*environments: dict[str, str | None], there=ROWS) -> tuple[int, str]:
        (junit := tmp_path / "junit").mkdir()
        for number, cases in enumerate(environments):
            text = [CASE.format(*name.rsplit(".", 1), skip(why)) for name, why in cases.items()]
            (junit / f"{number}.xml").write_text(f"<testsuites><testsuite>{''.join(text)}</testsuite></testsuites>")
        (listed := tmp_path / "tests").write_text("\n".join([*there, "", "3 tests collected in 0.1s"]))
        command = [sys.executable, str(SCRIPT), str(junit), str(listed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return judge


def skip(why: str | None) -> str:
    return "" if why is None else f'<skipped message="{why}"/>'


ONE, TWO, THREE = "tests.a.test_x.test_one", "tests.a.test_x.test_two[1]", "tests.a.test_x.TestAll.test_three"


def test_a_test_run_in_one_environment_may_skip_in_others(judged):
    code, reported = judged({ONE: None, TWO: "no Java"}, {ONE: "old Python", TWO: None, THREE: None})

    assert (code, reported) == (0, "3 tests ran in some environment, 0 in none\n")


def test_a_test_skipped_in_every_environment_is_named_with_reason(judged):
    code, reported = judged({ONE: None, TWO: "no Java", THREE: None}, {TWO: "no Java"})

    assert code == 1
    assert f"never run: {TWO} (skipped: no Java)\n" in reported


def test_a_test_collected_in_no_environment_is_named(judged):
    code, reported = judged({ONE: None, TWO: None})

    assert code == 1
    assert reported.startswith(f"never run: {THREE} (no environment chose it)\n")


def test_a_case_is_missed_though_another_of_its_function_ran(judged):
    code, reported = judged({ONE: None, TWO: None, "tests.a.test_x.test_two[2]": "no disk", THREE: None})

    assert code == 1
    assert "never run: tests.a.test_x.test_two[2] (skipped: no disk)" in reported


def test_a_contract_test_outside_a_backends_capabilities_is_no_gap(judged):
    assert judged({ONE: None, TWO: CHOSEN, THREE: None})[0] == 0


def test_an_empty_test_run_fails(judged):
    assert judged(there=[]) == (1, "0 tests ran in some environment, 0 in none\n")
