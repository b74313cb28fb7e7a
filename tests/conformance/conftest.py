"""Offer a Kafka whose answers depend on the asker alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from real_kafka import RealKafka, wait_for_coordinators


@pytest.fixture(scope="session")
def undisturbed_kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a real Kafka that no other test talks to.

    Kafka verifies the transactions of several producers in one request, and words all refusals for the client that came
    first (AddPartitionsToTxnManager): next to an older client's TxnOffsetCommit, in another test, TRANSACTION_ABORTABLE
    becomes INVALID_TXN_STATE.
    """
    if running := request.config.getoption("--eos-kafka"):
        wait_for_coordinators(running)
        yield running
        return
    node = RealKafka.start(tmp_path_factory.mktemp("undisturbed-kafka"))
    try:
        wait_for_coordinators(node.bootstrap_servers)
        yield node.bootstrap_servers
    finally:
        node.stop()
