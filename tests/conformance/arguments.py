"""Requests with unusual arguments: empty names, extreme timestamps, missing topics."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

from . import broker_state
from .calls import NOBODY, Answer, Caller, delete_before, offsets_of
from .cell_answers import answer_text, relative

_MISSING = "no-such-topic"
_MAX_TIMEOUT = 900.0
_ADD, _MARKERS, _COMMIT = 24, 27, 28


@dataclass(frozen=True, slots=True)
class Scene:
    """What a question has for itself: an initialised id with its producer, a topic of one partition."""

    name: str
    producer: ProducerIdAndEpoch
    where: TopicPartition

    @property
    def nowhere(self) -> TopicPartition:
        return TopicPartition(_MISSING, 0)

    @property
    def beyond(self) -> TopicPartition:
        return TopicPartition(self.where.topic, 99)


Question = Callable[[Caller, Scene], object]


def _init(
    producer_id: int | None = None, epoch: int | None = None, timeout: float = 60.0, version: int = 5
) -> Question:
    """With parts of the producer's ids, or others."""

    def ask(caller: Caller, scene: Scene) -> Answer:
        own = scene.producer
        expected = ProducerIdAndEpoch(
            own.producer_id if producer_id is None else producer_id, own.epoch if epoch is None else epoch
        )
        return caller.init(scene.name, expected, version, timeout)

    return ask


def _init_as(name: str | None, expected: ProducerIdAndEpoch = NOBODY, timeout: float = 60.0) -> Question:
    return lambda caller, _: caller.init(name, expected, timeout=timeout)  # type: ignore[arg-type]


def _add(*wheres: Callable[[Scene], TopicPartition], name: str | None = None) -> Question:
    """AddPartitionsToTxn 3 of several partitions: the code of each."""

    def ask(caller: Caller, scene: Scene) -> list[str]:
        answer = caller.ask(
            _ADD,
            3,
            v3_and_below_transactional_id=scene.name if name is None else name,
            v3_and_below_producer_id=scene.producer.producer_id,
            v3_and_below_producer_epoch=scene.producer.epoch,
            v3_and_below_topics=[Fields(name=each(scene).topic, partitions=[each(scene).partition]) for each in wheres],
        )
        return sorted(
            f"{Code(each['partition_error_code']).name}"
            for topic in answer["results_by_topic_v3_and_below"]
            for each in topic["results_by_partition"]
        )

    return ask


def _add_batched(*names: str | None) -> Question:
    """AddPartitionsToTxn 5 for several ids at once: None is the scene's own."""

    def ask(caller: Caller, scene: Scene) -> list[str]:
        transactions = [
            Fields(
                transactional_id=scene.name if name is None else name,
                producer_id=scene.producer.producer_id,
                producer_epoch=scene.producer.epoch,
                verify_only=False,
                topics=[Fields(name=scene.where.topic, partitions=[scene.where.partition])],
            )
            for name in names
        ]
        answer = caller.ask(_ADD, 5, transactions=transactions)
        codes = sorted(
            Code(each["partition_error_code"]).name
            for result in answer["results_by_transaction"]
            for topic in result["topic_results"]
            for each in topic["results_by_partition"]
        )
        return [Code(int(answer["error_code"])).name, *codes]

    return ask


def _mark(where: Callable[[Scene], TopicPartition], producer: ProducerIdAndEpoch | None = None) -> Question:
    return lambda caller, scene: caller.mark(producer or scene.producer, where(scene), -1)


def _marks(caller: Caller, scene: Scene) -> list[str]:
    """Two partitions, of which one does not exist."""
    topics = [Fields(name=each.topic, partition_indexes=[each.partition]) for each in (scene.where, scene.nowhere)]
    own = {"producer_id": scene.producer.producer_id, "producer_epoch": scene.producer.epoch}
    marker = Fields(**own, transaction_result=False, topics=topics, coordinator_epoch=-1)
    [answer] = caller.ask(_MARKERS, 1, markers=[marker])["markers"]
    return sorted(Code(each["error_code"]).name for topic in answer["topics"] for each in topic["partitions"])


def _produce(caller: Caller, scene: Scene, **changed: Any) -> Answer:
    wanted = {"name": scene.name, "producer": scene.producer, "where": scene.where, "sequence": 0, "version": 12}
    return caller.produce(**wanted | changed)  # type: ignore[arg-type]


def _commit(**changed: Any) -> Question:
    def ask(caller: Caller, scene: Scene) -> Answer:
        wanted = {"name": scene.name, "producer": scene.producer, "group": f"{scene.name}-g", "where": scene.where}
        return caller.commit_offsets(**wanted | {name: _of(scene, each) for name, each in changed.items()})

    return ask


def _of(scene: Scene, value: Any) -> Any:
    return value(scene) if callable(value) else value


def _with_much_metadata(caller: Caller, scene: Scene) -> Answer:
    own = {"producer_id": scene.producer.producer_id, "producer_epoch": scene.producer.epoch}
    nobody = {"generation_id": -1, "member_id": "", "group_instance_id": None}
    topics = offsets_of(scene.where, 1, "m" * 5000)
    answer = caller.ask(
        _COMMIT, 5, transactional_id=scene.name, group_id=f"{scene.name}-g", topics=topics, **own, **nobody
    )
    return Answer(Code(answer["topics"][0]["partitions"][0]["error_code"]))


def _listed(*states: str, pattern: str | None = None, version: int = 1) -> Question:
    def ask(caller: Caller, scene: Scene) -> str:
        found = broker_state.listed(
            caller, states, [scene.producer.producer_id], pattern=pattern and _of(scene, pattern), version=version
        )
        own = found.pop(scene.name, None)
        return f"{'listed' if own else 'not listed'} {found.get('', ('', 0))[0]}"

    return ask


def _here(scene: Scene) -> TopicPartition:
    return scene.where


def _nowhere(scene: Scene) -> TopicPartition:
    return scene.nowhere


def _beyond(scene: Scene) -> TopicPartition:
    return scene.beyond


def _internal(scene: Scene) -> TopicPartition:
    return TopicPartition("__transaction_state", 0)


QUESTIONS: Mapping[str, Question] = {
    "InitProducerId of the empty id": _init_as(""),
    "InitProducerId without an id": _init_as(None),
    "InitProducerId without an id, with a producer": _init_as(None, ProducerIdAndEpoch(1, 1)),
    "InitProducerId without an id, timeout 0": _init_as(None, timeout=0.0),
    "InitProducerId, timeout 0": _init(timeout=0.0),
    "InitProducerId, the longest timeout": _init(timeout=_MAX_TIMEOUT),
    "InitProducerId, a longer timeout": _init(timeout=_MAX_TIMEOUT + 0.001),
    "InitProducerId, timeout 0, before the ids are looked at": _init(-1, -1, timeout=0.0),
    "InitProducerId, producer id without epoch": _init(None, -1),
    "InitProducerId, epoch without producer id": _init(-1),
    "InitProducerId, producer id of nobody else": _init(987_654),
    "InitProducerId of an unknown id, with a producer": lambda caller, scene: caller.init(
        f"{scene.name}-x", ProducerIdAndEpoch(987_654, 3)
    ),
    "AddPartitions of the empty id": _add(_here, name=""),
    "AddPartitions of an unknown id": _add(_here, name="nobody-knows"),
    "AddPartitions of nothing": _add(),
    "AddPartitions, one does not exist": _add(_here, _nowhere),
    "AddPartitions, no such partition": _add(_here, _beyond),
    "AddPartitions, a topic of the broker's own": _add(_internal),
    "AddPartitions 5 of two ids, one unknown": _add_batched(None, "nobody-knows"),
    "AddPartitions 5 of the empty id": _add_batched(""),
    "AddOffsets of the empty id": lambda caller, scene: caller.add_offsets("", scene.producer, "g"),
    "AddOffsets of the empty group": lambda caller, scene: caller.add_offsets(scene.name, scene.producer, ""),
    "EndTxn 4 of the empty id": lambda caller, scene: caller.end("", scene.producer, 4),
    "EndTxn 5 of the empty id": lambda caller, scene: caller.end("", scene.producer, 5),
    "EndTxn 5 of an unknown id": lambda caller, scene: caller.end("nobody-knows", scene.producer, 5),
    "Produce 12 without an id": lambda caller, scene: _without_id(caller, scene, 12),
    "Produce 11 under another id": lambda caller, scene: _produce(caller, scene, name="nobody-knows", version=11),
    "Produce 12 under another id": lambda caller, scene: _produce(caller, scene, name="nobody-knows"),
    "Produce 12 under the empty id": lambda caller, scene: _produce(caller, scene, name=""),
    "Produce 12 to a topic that does not exist": lambda caller, scene: _produce(caller, scene, where=scene.nowhere),
    "Produce 12 to a partition that does not exist": lambda caller, scene: _produce(caller, scene, where=scene.beyond),
    "Produce 12, a negative sequence number": lambda caller, scene: _produce(caller, scene, sequence=-1),
    "Produce 12, a negative epoch": lambda caller, scene: _produce(
        caller, scene, producer=ProducerIdAndEpoch(scene.producer.producer_id, -1)
    ),
    "TxnOffsetCommit 5 of the empty id": _commit(name=""),
    "TxnOffsetCommit 5 of the empty group": _commit(group=""),
    "TxnOffsetCommit 5 for a topic that does not exist": _commit(where=_nowhere),
    "TxnOffsetCommit 5 for a partition that does not exist": _commit(where=_beyond),
    "TxnOffsetCommit 3 for a topic that does not exist": _commit(where=_nowhere, version=3),
    "TxnOffsetCommit 5 for nothing that exists, of an unknown id": _commit(where=_nowhere, name="nobody-knows"),
    "TxnOffsetCommit 5 for nothing that exists, of the empty group": _commit(where=_nowhere, group=""),
    "TxnOffsetCommit 5 with too much metadata": _with_much_metadata,
    "TxnOffsetCommit 5 of a negative offset": _commit(offset=-2),
    "TxnOffsetCommit 3 of the empty group": _commit(group="", version=3),
    "WriteTxnMarkers to a topic that does not exist": _mark(_nowhere),
    "WriteTxnMarkers to a partition that does not exist": _mark(_beyond),
    "WriteTxnMarkers, one does not exist": _marks,
    "WriteTxnMarkers of nobody": _mark(_here, NOBODY),
    "WriteTxnMarkers without an epoch": _mark(_here, ProducerIdAndEpoch(7, -1)),
    "DescribeTransactions of the empty id": lambda caller, _: broker_state.described(caller, "", {}),
    "DescribeTransactions of an unknown id": lambda caller, _: broker_state.described(caller, "nobody-knows", {}),
    "ListTransactions of an unknown state": _listed("NoSuchState"),
    "ListTransactions of a known and an unknown state": _listed("Empty", "NoSuchState"),
    "ListTransactions of a state it is not in": _listed("Ongoing"),
    "ListTransactions of a state that is never told": _listed("PrepareEpochFence"),
    "ListTransactions 2 of a fitting pattern": _listed(pattern="arguments-.*", version=2),
    "ListTransactions 2 of a pattern that fits the beginning": _listed(pattern="arguments", version=2),
    "ListTransactions 2 of an empty pattern": _listed(pattern="", version=2),
    "ListTransactions 2 of no regular expression": _listed(pattern="(", version=2),
    "DeleteRecords beyond the end": lambda caller, scene: delete_before(caller, scene.where, 1),
    "DeleteRecords of a negative offset": lambda caller, scene: delete_before(caller, scene.where, -2),
    "DeleteRecords of all of nothing": lambda caller, scene: delete_before(caller, scene.where, -1),
    "DeleteRecords of a partition that does not exist": lambda caller, scene: delete_before(caller, scene.beyond, 0),
    "DeleteRecords of a topic of the broker's own": lambda caller, scene: delete_before(caller, _internal(scene), 0),
}


def _without_id(caller: Caller, scene: Scene, version: int) -> Answer:
    """A batch that says to be transactional in a request that names no id."""
    return caller.produce(None, scene.producer, scene.where, 0, version, transactional=True)


def answers(caller: Caller) -> Iterator[tuple[str, str]]:
    """What a broker says to each question."""
    topic = f"arguments-{uuid.uuid4().hex[:8]}"
    caller.create(topic, len(QUESTIONS))
    for number, (question, ask) in enumerate(QUESTIONS.items()):
        where, name = TopicPartition(topic, number), f"{topic}-{number}"
        scene = Scene(name, caller.init(name).producer, where)
        message = ask(caller, scene)
        state, after = caller.settled(name)
        words = answer_text(message, scene.producer) if isinstance(message, Answer) else str(message)
        yield question, f"{words}; then {state} {relative(after, scene.producer)}"
