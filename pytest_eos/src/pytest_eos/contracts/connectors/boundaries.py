"""The contract of a source connector that defines its transaction boundaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import pytest

from eosfw.identity import identity_headers, identity_of
from eosfw.records import SourceRecord
from eosfw.runtime import End
from pytest_eos.contracts.connectors.connector import SourceConnectorContract
from pytest_eos.contracts.connectors.resumption import committed, sample
from pytest_eos.contracts.connectors.source import Source
from pytest_eos.contracts.connectors.task_driver import Offsets, TaskDriver, Transaction
from pytest_eos.harness import EosHarness


class TransactionBoundariesContract(SourceConnectorContract):
    """Inherit it instead of SourceConnectorContract where `transaction.boundary=connector`.

    Define the fixture `source`, its Source with `transaction_ends`.
    """

    asks_for_ends: ClassVar[bool] = True

    def test_transactions_end_where_the_source_says(self, driver: TaskDriver, source: Source) -> None:
        """BND-02: read from the start, and resumed after any of its transactions."""
        must_end = _must_end(driver, source)
        for task_config in driver.task_configs(1):
            whole = driver.transactions(task_config, {}, source.most)
            assert any(one.records and one.end is End.COMMIT for one in whole), "the task commits no transaction"
            for at in sample(len(whole)):
                behind = {place: where for one in whole[:at] for place, where in committed(*one.records).items()}
                for one in driver.transactions(task_config, behind, source.most):
                    _check_ends(one, must_end, behind)

    def test_a_run_ends_transactions_where_its_task_says(
        self, eos: EosHarness, driver: TaskDriver, source: Source
    ) -> None:
        """BND-02, BND-03: records become visible together exactly as the task groups them."""
        _must_end(driver, source)
        run = eos.run(source.connector, {**source.given, "tasks.max": 1}, until=source.most)

        # By what identifies them: a converter has made other values of those that the task returned.
        seen = [[identity_of(None, one.headers, "headers") for one in records] for records in run.transactions()]
        cut = [
            one for task_config in driver.task_configs(1) for one in driver.transactions(task_config, {}, source.most)
        ]
        expected = [
            [_identity(run.name, record) for record in one.records]
            for one in cut
            if one.records and one.end is End.COMMIT
        ]
        assert seen, "no transaction was committed: does the task ask for it?"
        assert all(here == there for here, there in zip(seen, expected, strict=False)), "transactions differ"


def _identity(connector: str, record: SourceRecord) -> bytes:
    headers = identity_headers(connector, record.source_partition, record.source_offset)
    return identity_of(None, headers, "headers")


def _must_end(driver: TaskDriver, source: Source) -> Callable[[SourceRecord], bool]:
    if not driver.ends_transactions or source.transaction_ends is None:
        raise pytest.UsageError(
            f"connector {source.connector.name!r}: say behind which records its transactions must end, "
            f"Source(..., transaction_ends=lambda record: ...), of a connector whose `transaction_boundaries` are "
            f"SUPPORTED"
        )
    return source.transaction_ends


def _check_ends(one: Transaction, must_end: Callable[[SourceRecord], bool], behind: Offsets) -> None:
    where = f", resumed behind {[dict(offset) for _, offset in behind.values()]}" if behind else ""
    last = one.records[-1] if one.records and one.end is not End.KEEP else None
    for record in one.records:
        place = f"source partition {dict(record.source_partition)}, source offset {dict(record.source_offset)}{where}"
        if record is last:
            assert must_end(record), f"a transaction ends where none should, behind {place}"
        else:
            assert not must_end(record), f"a transaction goes on where it should end, behind {place}"
