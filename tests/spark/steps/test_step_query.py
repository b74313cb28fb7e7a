"""A streaming query is started again when Spark gave its Python process too little time; needs no session."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eosfw.errors import StepFailedError
from eosfw.protocols import Step, StepInput
from eosfw_spark.steps.checkpoint import Checkpoint
from eosfw_spark.steps.streaming import SparkStepQuery

LATE = "[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker failed to connect back. SQLSTATE: XXKST"


class Query:
    """Has ended, with a failure or without."""

    isActive = False  # noqa: N815 - Spark's name

    def __init__(self, failure: str | None) -> None:
        self._failure = failure

    def exception(self) -> Exception | None:
        return None if self._failure is None else RuntimeError(self._failure)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., SparkStepQuery]]:
    """Start a step whose query fails like this at each of its starts."""
    checkpoint = Checkpoint(tmp_path)

    def start(*failures: str | None) -> SparkStepQuery:
        queries: Any = map(Query, failures)
        return SparkStepQuery(Step("s", [StepInput("t", "t")], "out", sql=""), lambda: next(queries), checkpoint)

    yield start
    checkpoint.close()


def test_a_query_whose_python_process_was_late_is_started_again(started, caplog) -> None:
    """A busy machine may need longer than the ten seconds that Spark waits; nothing was read by then."""
    query = started(LATE, LATE, None)

    assert [query.ended() for _ in range(3)] == [False, False, True]
    assert caplog.messages == ["step s: Spark's Python process did not start within 10 s; started again"] * 2


def test_a_query_is_not_started_again_for_ever(started) -> None:
    query = started(*[LATE] * 5)

    assert [query.ended() for _ in range(4)] == [False] * 4
    with pytest.raises(StepFailedError, match="Python worker failed to connect back"):
        query.ended()


def test_a_query_that_failed_otherwise_is_not_started_again(started) -> None:
    query = started("[DIVIDE_BY_ZERO] Division by zero")

    with pytest.raises(StepFailedError, match="Division by zero"):
        query.ended()
