"""Ask the coordinator of a transactional id: initialise, add partitions, end (KIP-98)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, Final

from eosfw.errors import ClusterUnavailableError, InvalidTxnStateError, ProducerFencedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.apis import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    END_TXN,
    END_TXN_V2,
    INIT_PRODUCER_ID,
    Api,
    Fields,
    milliseconds,
)
from eosfw_memory.client.channel import NoAnswerError, NotRetriableError
from eosfw_memory.client.errors import ADD, END, INIT, LOST_COORDINATOR, RETRIABLE, ErrorTable, error_for, indefinite
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer

_NOBODY: Final = -1
_TRANSACTION_V2: Final = 2


class TransactionManager:
    """The coordinator as one transactional id sees it.

    The requests that the Java client's `TransactionManager` sends.
    """

    def __init__(self, metadata: ClusterMetadata, transactional_id: str, version: int | None = None) -> None:
        self._metadata = metadata
        self.transactional_id = transactional_id
        self._wanted = version
        self.transaction_v2 = False
        """Whether each transaction has an epoch of its own (version 2 of transactions, KIP-890)."""

    def init_producer_id(self, timeout: float, timer: RetryTimer) -> ProducerIdAndEpoch:
        """Take the id over: a higher epoch, everyone before shut out."""
        version = self._wanted or self._metadata.transaction_version(timer)
        self.transaction_v2 = version >= _TRANSACTION_V2
        request = init_producer_id_request(self.transactional_id, milliseconds(timeout))
        answer: Any = self._call(INIT_PRODUCER_ID, request, INIT, timer, _code)
        return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])

    def add_partitions(
        self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition], timer: RetryTimer
    ) -> None:
        """Let the transaction touch partitions."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        request = Fields(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[Fields(name=name, partitions=each) for name, each in topics.items()],
        )
        self._call(ADD_PARTITIONS, request, ADD, timer, _worst)

    def add_offsets(self, producer: ProducerIdAndEpoch, group_id: str, timer: RetryTimer) -> None:
        """Let the transaction touch the offsets of a consumer group."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )
        self._call(ADD_OFFSETS, request, ADD, timer, _code)

    def end_transaction(self, producer: ProducerIdAndEpoch, timer: RetryTimer, *, commit: bool) -> ProducerIdAndEpoch:
        """Decide the transaction; give what the next one is written with."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        if not self.transaction_v2:
            self._call(END_TXN, request, END, timer, _code)
            return producer
        try:
            answer: Any = self._call(END_TXN_V2, request, END, timer, _code)
        except InvalidTxnStateError as why:
            if not commit:
                raise
            # Version 1 tells of a transaction that was timed out by its epoch, version 2, where an end may be asked
            # for again, by its state.
            raise ProducerFencedError(
                f"{why}: its coordinator has aborted the transaction, as after a timeout"
            ) from why
        return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])

    def _call(
        self, api: Api, request: Fields, table: ErrorTable, timer: RetryTimer, judge: Callable[[Any], int]
    ) -> Answer:
        while True:
            answer = self._answer(api, request, timer)
            if answer is not None:
                code = judge(answer)
                if code == Code.NONE:
                    return answer
                if code in LOST_COORDINATOR:
                    self._metadata.forget_coordinator(self.transactional_id)
                if code not in RETRIABLE or not timer.backoff():
                    raise error_for(code, table, self._what(api))

    def _answer(self, api: Api, request: Fields, timer: RetryTimer) -> Answer | None:
        """The answer; None when the request never left and there is time to look for another coordinator."""
        try:
            return self._metadata.coordinator(self.transactional_id, timer).call(api, request, timer.deadline)
        except NoAnswerError as why:
            raise indefinite(self._what(api), why) from why
        except ClusterUnavailableError as why:
            self._metadata.forget_coordinator(self.transactional_id)
            if not isinstance(why, NotRetriableError) and timer.backoff():
                return None
            if api is INIT_PRODUCER_ID:  # nothing happened, so it may be tried again
                raise ClusterUnavailableError(f"{self._what(api)}: {why}; is the cluster running?") from why
            raise indefinite(self._what(api), why) from why

    def _what(self, api: Api) -> str:
        return f"{api.name} of {self.transactional_id!r} at {self._metadata.network.servers}"


def new_producer_id(metadata: ClusterMetadata, timer: RetryTimer) -> ProducerIdAndEpoch:
    """A producer id that nobody had before: idempotence without a transactional id (KIP-98)."""
    request = Fields(
        transactional_id=None, transaction_timeout=timedelta(0), producer_id=_NOBODY, producer_epoch=_NOBODY
    )
    while True:
        answer: Any = metadata.ask(INIT_PRODUCER_ID, request, timer)
        code = answer["error_code"]
        if code == Code.NONE:
            return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
        if code not in RETRIABLE or not timer.backoff():
            raise error_for(code, INIT, f"InitProducerId at {metadata.network.servers}")


def init_producer_id_request(transactional_id: str, timeout: timedelta) -> Fields:
    """The request that takes an id over."""
    return Fields(
        transactional_id=transactional_id,
        transaction_timeout=timeout,
        producer_id=_NOBODY,
        producer_epoch=_NOBODY,
    )


def _code(answer: Any) -> int:
    return int(answer["error_code"])


def _worst(answer: Any) -> int:
    """The code that explains the others: where one partition fails, the rest is only "not attempted"."""
    codes = [
        each["partition_error_code"]
        for topic in answer["results_by_topic_v3_and_below"]
        for each in topic["results_by_partition"]
        if each["partition_error_code"] != Code.NONE
    ]
    telling = [code for code in codes if code != Code.OPERATION_NOT_ATTEMPTED]
    return int((telling or codes or [Code.NONE])[0])
