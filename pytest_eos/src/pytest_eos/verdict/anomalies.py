"""Assert that the history of a run has no anomaly."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eosfw.checker import Judgement, Operation, check_history, report_lines, write_history
from pytest_eos.runs.operations import operations_of
from pytest_eos.runs.run import Run


def assert_no_anomaly(seen: object, operations: Sequence[Operation], path: Path) -> None:
    """Write the history of what was seen to a file, and raise AssertionError unless it is good."""
    __tracebackhide__ = True
    write_history(path, operations)
    _assert_good(seen, operations, path)


def assert_good_history(run: Run, path: Path, *, transaction_log: bool) -> None:
    """Raise AssertionError unless the history of a run is good, and write it to a file only then."""
    __tracebackhide__ = True
    _assert_good(run, operations_of(run, transaction_log=transaction_log), path)


def _assert_good(seen: object, operations: Sequence[Operation], path: Path) -> None:
    __tracebackhide__ = True
    checked = check_history(operations)
    if checked.judgement is not Judgement.GOOD:
        write_history(path, operations)
        raise AssertionError("\n".join([f"the history of {seen}, which is in {path}:", *report_lines(checked)]))
