"""The requests of one transactional id to its coordinator: initialise, add partitions, end (KIP-98)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from typing import Any, Final

from eosfw.error_table import ADD, END, INIT, RETRIABLE, ErrorTable
from eosfw.errors import InvalidTxnStateError, ProducerFencedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.coordinator import Coordinator, CoordinatorRequest
from eosfw_memory.client.metadata import ClusterMetadata, CoordinatorType
from eosfw_memory.client.transport.apis import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    END_TXN,
    END_TXN_V2,
    INIT_PRODUCER_ID,
    Api,
    Fields,
    group_by_topic,
    milliseconds,
)
from eosfw_memory.client.transport.errors import error_for, indefinite, unavailable
from eosfw_memory.common.codes import Code

_NOBODY: Final = ProducerIdAndEpoch(-1, -1)
_TRANSACTION_V2: Final = 2


class TransactionManager:
    """The requests of one transactional id to its coordinator.

    Kafka's client-side `TransactionManager`, without its state machine, which is `eosfw.state.producer_state`.
    """

    def __init__(self, metadata: ClusterMetadata, transactional_id: str, version: int | None = None) -> None:
        self._metadata = metadata
        self._coordinator = Coordinator(metadata, transactional_id, CoordinatorType.TRANSACTION)
        self.transactional_id = transactional_id
        self._wanted = version
        self.transaction_v2 = version is not None and version >= _TRANSACTION_V2
        """Whether each transaction has an epoch of its own (version 2 of transactions, KIP-890)."""

    def init_producer_id(self, timeout: float, timer: RetryTimer) -> ProducerIdAndEpoch:
        """Initialise the id with a higher epoch, which fences its earlier producers."""
        version = self._wanted or self._metadata.transaction_version(timer)
        self.transaction_v2 = version >= _TRANSACTION_V2
        return self.renew_epoch(_NOBODY, timeout, timer)

    def renew_epoch(self, producer: ProducerIdAndEpoch, timeout: float, timer: RetryTimer) -> ProducerIdAndEpoch:
        """Raise the epoch of the producer that holds the id, if it still does (KIP-360)."""
        request = init_producer_id_request(self.transactional_id, milliseconds(timeout), producer)
        answer = self._ask(INIT_PRODUCER_ID, request, INIT, timer)
        return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])

    def add_partitions(
        self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition], timer: RetryTimer
    ) -> None:
        """Add partitions to the transaction."""
        request = Fields(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=group_by_topic(partitions, lambda name, each: Fields(name=name, partitions=each)),
        )
        self._ask(ADD_PARTITIONS, request, ADD, timer, code_of=_telling_code)

    def add_offsets(self, producer: ProducerIdAndEpoch, group_id: str, timer: RetryTimer) -> None:
        """Add the offsets of a consumer group to the transaction."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )
        self._ask(ADD_OFFSETS, request, ADD, timer)

    def end_transaction(self, producer: ProducerIdAndEpoch, timer: RetryTimer, *, commit: bool) -> ProducerIdAndEpoch:
        """Commit or abort the transaction; return the producer of the next one."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        if not self.transaction_v2:
            self._ask(END_TXN, request, END, timer)
            return producer
        try:
            answer = self._ask(END_TXN_V2, request, END, timer)
        except InvalidTxnStateError as why:
            if not commit:
                raise
            # After a timeout the coordinator has aborted the transaction. Version 1 reports that as an old epoch,
            # version 2, in which an end may be repeated, as a wrong state.
            raise ProducerFencedError(
                f"{why}: its coordinator has aborted the transaction, as after a timeout"
            ) from why
        return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])

    def _ask(
        self,
        api: Api,
        fields: Fields,
        errors: ErrorTable,
        timer: RetryTimer,
        **how: Any,
    ) -> Any:
        # An InitProducerId that was not sent may be tried again; after any other request the outcome is unknown.
        unanswered = unavailable if api is INIT_PRODUCER_ID else indefinite
        request = CoordinatorRequest(api, fields, errors, unanswered=unanswered, repeatable=False, **how)
        return self._coordinator.ask(request, timer)


def new_producer_id(metadata: ClusterMetadata, timer: RetryTimer) -> ProducerIdAndEpoch:
    """A new producer id, for idempotence without a transactional id (KIP-98)."""
    request = init_producer_id_request(None, timedelta(0))
    while True:
        answer: Any = metadata.ask(INIT_PRODUCER_ID, request, timer)
        code = answer["error_code"]
        if code == Code.NONE:
            return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
        if code not in RETRIABLE or not timer.backoff():
            raise error_for(code, INIT, f"InitProducerId at {metadata.network.servers}")


def init_producer_id_request(
    transactional_id: str | None, timeout: timedelta, producer: ProducerIdAndEpoch = _NOBODY
) -> Fields:
    """The InitProducerId request of a transactional id; by default without a known producer."""
    return Fields(
        transactional_id=transactional_id,
        transaction_timeout=timeout,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )


def _telling_code(answer: Any) -> int:
    """The first error code that is a cause: where one partition fails, the others are only "not attempted"."""
    codes = [
        each["partition_error_code"]
        for topic in answer["results_by_topic_v3_and_below"]
        for each in topic["results_by_partition"]
        if each["partition_error_code"] != Code.NONE
    ]
    telling = [code for code in codes if code != Code.OPERATION_NOT_ATTEMPTED]
    return int((telling or codes or [Code.NONE])[0])
