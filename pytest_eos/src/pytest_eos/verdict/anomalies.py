"""Assert that the history of a run has no anomaly."""

from __future__ import annotations

from pathlib import Path

from eosfw.checker import Judgement, check_history, report_lines, write_history
from pytest_eos.runs.run import Run
from pytest_eos.runs.run_operations import operations_of


def assert_no_anomaly(run: Run, path: Path) -> None:
    """Write the history of a run to a file, and raise AssertionError unless it is good."""
    __tracebackhide__ = True
    operations = operations_of(run)
    write_history(path, operations)
    checked = check_history(operations)
    if checked.judgement is not Judgement.GOOD:
        raise AssertionError("\n".join([f"the history of {run}, which is in {path}:", *report_lines(checked)]))
