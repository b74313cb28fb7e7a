"""The contract of a source connector whose source grows."""

from __future__ import annotations

import pytest

from pytest_eos.contracts.connectors.connector import SourceConnectorContract
from pytest_eos.contracts.connectors.growth import growth_missed
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import TaskDriver


class GrowingSourceContract(SourceConnectorContract):
    """Inherit it instead of SourceConnectorContract, or beside TransactionBoundariesContract, where a source grows.

    Define the fixture `source`, its Source with `grow`, in which something should lie in the way of what comes: a line
    without its end, say, or a row with a time that the source has already.
    """

    def test_what_comes_later_is_read_once(self, driver: TaskDriver, source: Source) -> None:
        """By the task that was at its end when the source grew, and by one that resumes there."""
        if source.grow is None:
            raise pytest.UsageError(
                f"connector {source.connector.name!r}: say how records are added to its source, Source(..., grow=...), "
                f"a function without arguments"
            )
        if wrong := growth_missed(driver, source, source.grow):
            pytest.fail(wrong, pytrace=False)
