"""Every error code of a broker is the same eosfw error with every client library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from eosfw.concurrency import Runtime
from eosfw.error_table import ADD, END, INIT, OFFSETS, PRODUCE, ErrorTable, error_class
from eosfw.errors import (
    AbortableError,
    EosfwError,
    FatalError,
    IllegalStateError,
    ProducerFencedError,
)
from eosfw.ids import TopicPartition
from eosfw.kafka_codes import Code
from eosfw.protocols import Backend, ConsumerGroupMetadata, TransactionalProducer
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.faults import Fail
from kip98.clients import OVER_SOCKETS, ClientOnCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record
from pytest_eos.contracts.backends.transactions import CALLS

REQUESTS: Final[Mapping[str, ErrorTable]] = {
    "InitProducerId": INIT,
    "AddPartitionsToTxn": ADD,
    "Produce": PRODUCE,
    "AddOffsetsToTxn": ADD,
    "TxnOffsetCommit": OFFSETS,
    "EndTxn": END,
}
FENCED: Final = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")
NOT_MINE: Final = ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED",)
LOST: Final = ("INVALID_TXN_STATE", "INVALID_PRODUCER_ID_MAPPING")
ODD: Final = ("UNKNOWN_SERVER_ERROR", "TRANSACTION_ABORTABLE")
GROUP: Final = ("GROUP_AUTHORIZATION_FAILED",)
LEFT: Final = ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID", "REBALANCE_IN_PROGRESS")
RECORD: Final = ("MESSAGE_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP", "CORRUPT_MESSAGE")
ORDER: Final = ("UNKNOWN_PRODUCER_ID", "OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_TXN_STATE")
CODES: Final[Mapping[str, tuple[str, ...]]] = {
    "InitProducerId": (*NOT_MINE, "CLUSTER_AUTHORIZATION_FAILED", *FENCED, "UNKNOWN_SERVER_ERROR"),
    "AddPartitionsToTxn": ("TOPIC_AUTHORIZATION_FAILED", *NOT_MINE, *LOST, *FENCED, *ODD),
    "Produce": ("TOPIC_AUTHORIZATION_FAILED", *RECORD, *FENCED, *ORDER, *ODD),
    "AddOffsetsToTxn": (*GROUP, *NOT_MINE, *FENCED, *ODD),
    "TxnOffsetCommit": (*GROUP, *LEFT, *FENCED, *ODD),
    "EndTxn": (*NOT_MINE, *LOST, *FENCED, *ODD),
}
CASES: Final = [(request, code) for request, codes in CODES.items() for code in codes]

TRIED_AGAIN: Final = {
    ("confluent", "InitProducerId", "UNKNOWN_SERVER_ERROR"),
    ("confluent", "Produce", "CORRUPT_MESSAGE"),
}
"""What a library asks again by itself."""
GIVEN_UP: Final = {
    # kafka-python knows neither code: its producer can do nothing more.
    ("kafka-python", "AddOffsetsToTxn", "TRANSACTION_ABORTABLE"),
    ("kafka-python", "TxnOffsetCommit", "TRANSACTION_ABORTABLE"),
    ("kafka-python", "EndTxn", "TRANSACTION_ABORTABLE"),
    ("kafka-python", "TxnOffsetCommit", "REBALANCE_IN_PROGRESS"),
}
"""What could be aborted, had the library not closed itself to everything."""
ALIKE: Final = {
    # A flush tells of records; the libraries do not say that it was another request of theirs that was refused.
    ("confluent", "AddPartitionsToTxn", "UNKNOWN_SERVER_ERROR"): AbortableError,
    ("kafka-python", "AddPartitionsToTxn", "UNKNOWN_SERVER_ERROR"): AbortableError,
    # librdkafka has lost its numbers, and says that it can do nothing more; behind a refused record it could.
    ("confluent", "Produce", "OUT_OF_ORDER_SEQUENCE_NUMBER"): FatalError,
    # In version 2 of transactions (KIP-890) a commit hears so of a transaction that was timed out.
    ("memory", "EndTxn", "INVALID_TXN_STATE"): ProducerFencedError,
}
NOTHING_TO_END: Final = {
    # librdkafka asks to end what the coordinator never heard of, which Kafka refuses as well.
    ("confluent", "AddPartitionsToTxn", code)
    for code in ("TOPIC_AUTHORIZATION_FAILED", *ODD)
}
"""Where an abort ends the producer."""
LOST_COUNT: Final = {
    # librdkafka counts records that were refused as written. What it sends next is out of order, also to Kafka.
    *(("confluent", "Produce", code) for code in ("MESSAGE_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP", *ODD)),
    # It goes on to refuse the topic until it looks again who may write there.
    ("confluent", "Produce", "TOPIC_AUTHORIZATION_FAILED"),
}
"""Where the transaction behind an abort fails, without effect."""


pytestmark = pytest.mark.parametrize("way", OVER_SOCKETS, indirect=True)


@pytest.fixture
def backend(
    way: ClientOnCluster, module_cluster: EmbeddedCluster, runtime: Runtime, request: pytest.FixtureRequest
) -> Backend:
    """A client of that broker."""
    return way.sending(request.node.callspec.params["request_"]).connect(module_cluster.bootstrap_servers, runtime)


class Story:
    """One transaction of every request, for an id that is followed by its holders."""

    def __init__(self, lab: BackendHarness) -> None:
        self._lab, self.topic, self.own = lab, lab.topic(), lab.name()
        self._group = ConsumerGroupMetadata(lab.name())

    def refused(self, producer: TransactionalProducer) -> EosfwError | None:
        """What its holder is told who begins with it."""
        try:
            producer.init_transactions(WAIT)
            self.write(producer, b"first")
        except EosfwError as reported:
            return reported
        return None

    def lost(self, producer: TransactionalProducer) -> bool:
        """Whether another transaction of the same producer fails."""
        try:
            self.write(producer, b"lost")
        except AbortableError:
            return True
        return False

    def successor(self, producer: TransactionalProducer) -> TransactionalProducer:
        """Another holder of the id, after this one is closed."""
        producer.close()
        return self._lab.producer(self.own)

    def write(self, producer: TransactionalProducer, value: bytes) -> None:
        """One record, one offset, committed."""
        producer.begin_transaction()
        producer.send(record(self.topic, value))
        producer.flush(WAIT)
        producer.send_offsets({TopicPartition(self.topic, 0): 1}, self._group, WAIT)
        producer.commit_transaction(WAIT)


@pytest.mark.parametrize(("request_", "code"), CASES)
def test_each_error_code_maps_to_one_error_across_calls(
    lab: BackendHarness, module_cluster: EmbeddedCluster, way: ClientOnCluster, request_: str, code: str
) -> None:
    """PRD-02, PRD-04, PRD-08: abort and go on, or close and go on with another; of the refused nothing is seen."""
    story, here = Story(lab), (way.backend, request_, code)
    fault = module_cluster.faults.add(Fail(request_, code=code, transactional_id=story.own))
    producer = lab.backend.producer(story.own)

    reported = story.refused(producer)

    assert fault.fired
    if here in TRIED_AGAIN:
        assert reported is None
        assert lab.values(story.topic) == [b"first"]
        return
    wanted = FatalError if here in GIVEN_UP else ALIKE.get(here) or error_class(Code[code], REQUESTS[request_])
    assert isinstance(reported, wanted)
    assert isinstance(reported, FatalError) == issubclass(wanted, FatalError)
    if here in NOTHING_TO_END:
        with pytest.raises(FatalError):
            producer.abort_transaction(WAIT)
    if isinstance(reported, AbortableError) and here not in NOTHING_TO_END:
        producer.abort_transaction(WAIT)
        if here in LOST_COUNT:
            assert story.lost(producer)
            producer = story.successor(producer)
    else:
        for call in CALLS.values():
            with pytest.raises((FatalError, IllegalStateError)):
                call(producer, story.topic)
        producer = story.successor(producer)
    story.write(producer, b"second")
    assert lab.values(story.topic) == [b"second"]
