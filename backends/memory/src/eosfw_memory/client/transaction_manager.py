"""Ask the coordinator of a transactional id: initialise, add partitions, end (KIP-98)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import Any, Final

from eosfw.errors import ClusterUnavailableError, InvalidTxnStateError, ProducerFencedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.apis import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    END_TXN,
    END_TXN_BUMPING,
    INIT_PRODUCER_ID,
    Api,
    Fields,
    milliseconds,
)
from eosfw_memory.client.channel import HopelessError, NoAnswerError
from eosfw_memory.client.errors import ADD, END, INIT, LOST_COORDINATOR, RETRIABLE, ErrorTable, indefinite, ours
from eosfw_memory.client.metadata import Routes
from eosfw_memory.client.retry_timer import Patience
from eosfw_memory.codes import Code
from eosfw_memory.delayed_operation import Answer

_NOBODY: Final = -1
_BUMPING: Final = 2


class Coordination:
    """The coordinator as one transactional id sees it.

    The requests that the Java client's `TransactionManager` sends.
    """

    def __init__(self, routes: Routes, transactional_id: str, version: int | None = None) -> None:
        self._routes = routes
        self.transactional_id = transactional_id
        self._wanted = version
        self.bumping = False
        """Whether each transaction has an epoch of its own (version 2 of transactions, KIP-890)."""

    def initialise(self, timeout: float, patience: Patience) -> ProducerIdAndEpoch:
        """Take the id over: a higher epoch, everyone before shut out."""
        version = self._wanted or self._routes.transaction_version(patience)
        self.bumping = version >= _BUMPING
        request = initialise_request(self.transactional_id, milliseconds(timeout))
        answer: Any = self._call(INIT_PRODUCER_ID, request, INIT, patience, _code)
        return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])

    def add(self, producer: ProducerIdAndEpoch, partitions: Collection[TopicPartition], patience: Patience) -> None:
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
        self._call(ADD_PARTITIONS, request, ADD, patience, _worst)

    def add_group(self, producer: ProducerIdAndEpoch, group_id: str, patience: Patience) -> None:
        """Let the transaction touch the offsets of a consumer group."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )
        self._call(ADD_OFFSETS, request, ADD, patience, _code)

    def end(self, producer: ProducerIdAndEpoch, patience: Patience, *, commit: bool) -> ProducerIdAndEpoch:
        """Decide the transaction; give what the next one is written with."""
        request = Fields(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        if not self.bumping:
            self._call(END_TXN, request, END, patience, _code)
            return producer
        try:
            answer: Any = self._call(END_TXN_BUMPING, request, END, patience, _code)
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
        self, api: Api, request: Fields, table: ErrorTable, patience: Patience, judge: Callable[[Any], int]
    ) -> Answer:
        while True:
            answer = self._answer(api, request, patience)
            if answer is not None:
                code = judge(answer)
                if code == Code.NONE:
                    return answer
                if code in LOST_COORDINATOR:
                    self._routes.forget_coordinator(self.transactional_id)
                if code not in RETRIABLE or not patience.again():
                    raise ours(code, table, self._what(api))

    def _answer(self, api: Api, request: Fields, patience: Patience) -> Answer | None:
        """The answer; None when the request never left and there is time to look for another coordinator."""
        try:
            return self._routes.coordinator(self.transactional_id, patience).call(api, request, patience.deadline)
        except NoAnswerError as why:
            raise indefinite(self._what(api), why) from why
        except ClusterUnavailableError as why:
            self._routes.forget_coordinator(self.transactional_id)
            if not isinstance(why, HopelessError) and patience.again():
                return None
            if api is INIT_PRODUCER_ID:  # nothing happened, so it may be tried again
                raise ClusterUnavailableError(f"{self._what(api)}: {why}; is the cluster running?") from why
            raise indefinite(self._what(api), why) from why

    def _what(self, api: Api) -> str:
        return f"{api.name} of {self.transactional_id!r} at {self._routes.network.servers}"


def fresh_producer(routes: Routes, patience: Patience) -> ProducerIdAndEpoch:
    """A producer id that nobody had before: idempotence without a transactional id (KIP-98)."""
    request = Fields(
        transactional_id=None, transaction_timeout=timedelta(0), producer_id=_NOBODY, producer_epoch=_NOBODY
    )
    while True:
        answer: Any = routes.ask(INIT_PRODUCER_ID, request, patience)
        code = answer["error_code"]
        if code == Code.NONE:
            return ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
        if code not in RETRIABLE or not patience.again():
            raise ours(code, INIT, f"InitProducerId at {routes.network.servers}")


def initialise_request(transactional_id: str, timeout: timedelta) -> Fields:
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
