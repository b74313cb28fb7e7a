"""Assert that the history of a run has no anomaly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eosfw.checker import Judgement, Operation, check_history, report_lines, write_history
from pytest_eos.runs.run import Run
from pytest_eos.runs.run_operations import operations_of


def assert_no_anomaly(run: Run, path: Path) -> None:
    """Write the history of a run to a file, and raise AssertionError unless it is good."""
    __tracebackhide__ = True
    operations = operations_of(run)
    write_history(path, operations)
    _assert_good(run, operations, path)


def assert_good_history(run: Run, path: Path, *, transaction_log: bool) -> None:
    """Raise AssertionError unless the history of a run is good, and write it to a file only then."""
    __tracebackhide__ = True
    _assert_good(run, operations_of(run, transaction_log=transaction_log), path)


def _assert_good(run: Run, operations: Sequence[Operation], path: Path) -> None:
    __tracebackhide__ = True
    checked = check_history(operations)
    if checked.judgement is not Judgement.GOOD:
        write_history(path, operations)
        raise AssertionError("\n".join([f"the history of {run}, which is in {path}:", *report_lines(checked)]))
