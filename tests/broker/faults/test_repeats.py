"""Each request of a transaction may arrive twice, or its answer get lost: there is one effect all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from conformance.calls import offsets_of
from conformance.record_fields import producing
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport import apis
from eosfw_memory.client.transport.apis import Api, Fields, milliseconds
from eosfw_memory.client.transport.channel import NoAnswerError
from eosfw_memory.common.codes import Code
from eosfw_memory.faults import Lose, Repeat
from eosfw_memory.storage.records.codec import encode_batch
from pytest_eos.contracts.backends.harness import UNCOMMITTED, WAIT, BackendHarness

GROUP = "readers"


class Way(NamedTuple):
    """A transaction by the requests of a version, with its end."""

    version: int
    commit: bool

    @property
    def steps(self) -> dict[str, Step]:
        return STEPS if self.version == 1 else NEWER_STEPS

    def __str__(self) -> str:
        return f"version {self.version} {'commit' if self.commit else 'abort'}"


class Transaction:
    """One transaction made of single requests without retries."""

    def __init__(self, lab: BackendHarness, way: Way | None = None) -> None:
        self.lab = lab
        self.way = way or Way(1, commit=True)
        self.id = lab.name()
        self.topic = lab.topic()
        self.producer = ProducerIdAndEpoch(-1, -1)
        self.group = f"{GROUP}-{self.id}"
        self.read = TopicPartition(lab.topic(), 0)
        self.ask(STEPS["InitProducerId"])  # so that the step itself may say who it was (KIP-360)

    def answer_to(self, step: Step):
        deadline = self.lab.runtime.now() + WAIT
        return self.lab.admin._metadata.network.any(deadline).call(step.api, Fields(**step.fields(self)), deadline)

    def ask(self, step: Step):
        answer = self.answer_to(step)
        assert codes(answer) <= {Code.NONE}
        if "producer_id" in answer:
            self.producer = ProducerIdAndEpoch(answer["producer_id"], answer["producer_epoch"])
        return answer

    def run(self, faulty_step: str, ask_with_fault: Callable[[Transaction, Step], None]) -> dict[str, object]:
        """Run every step, one of them with a fault; return the codes."""
        for name, step in self.way.steps.items():
            ask_with_fault(self, step) if name == faulty_step else self.ask(step)
        return {
            "rows": self.lab.rows(self.topic),
            "end": self.lab.end(self.topic, UNCOMMITTED),
            "epoch": self.producer.epoch,
            "offsets": [*self.lab.admin.group_offsets(self.group, [self.read]).values()],
        }


class Step(NamedTuple):
    api: Api
    fields: Callable[[Transaction], dict[str, object]]


def whole(one: Transaction) -> dict[str, object]:
    return {
        "transactional_id": one.id,
        "producer_id": one.producer.producer_id,
        "producer_epoch": one.producer.epoch,
    }


def add_partitions(one: Transaction) -> dict[str, object]:
    named = {f"v3_and_below_{name}": value for name, value in whole(one).items()}
    return {**named, "v3_and_below_topics": (Fields(name=one.topic, partitions=(0,)),)}


def produce(one: Transaction) -> dict[str, object]:
    batch = encode_batch(None, [b"v"], 0, producer=one.producer, base_sequence=0, transactional=True)
    return producing([(one.topic, 0, batch)], one.id)


def commit_offsets(one: Transaction) -> dict[str, object]:
    member = {"group_id": one.group, "generation_id": -1, "member_id": "", "group_instance_id": None}
    return {**whole(one), **member, "topics": offsets_of(one.read, 7)}


STEPS = {
    "FindCoordinator": Step(
        apis.FIND_COORDINATOR, lambda one: {"key": one.id, "key_type": 1, "coordinator_keys": (one.id,)}
    ),
    "InitProducerId": Step(
        apis.INIT_PRODUCER_ID, lambda one: {**whole(one), "transaction_timeout": milliseconds(60.0)}
    ),
    "AddPartitionsToTxn": Step(apis.ADD_PARTITIONS, add_partitions),
    "Produce": Step(apis.PRODUCE, produce),
    "AddOffsetsToTxn": Step(apis.ADD_OFFSETS, lambda one: {**whole(one), "group_id": one.group}),
    "TxnOffsetCommit": Step(apis.TXN_OFFSET_COMMIT, commit_offsets),
    "EndTxn": Step(apis.END_TXN, lambda one: {**whole(one), "committed": one.way.commit}),
}
NEWER_STEPS = {
    "InitProducerId": STEPS["InitProducerId"],
    "Produce": Step(Api(0, "Produce", 12, 12), produce),
    "TxnOffsetCommit": Step(Api(28, "TxnOffsetCommit", 5, 5), commit_offsets),
    "EndTxn": Step(Api(26, "EndTxn", 5, 5), STEPS["EndTxn"].fields),
}
"""Version 2 adds partitions by itself, and its end gives the next epoch (KIP-890)."""


def codes(answer: object) -> set[int]:
    """Every error code in an answer."""
    if isinstance(answer, dict):
        own = {int(value) for name, value in answer.items() if name.endswith("error_code")}
        return own.union(*(codes(value) for value in answer.values()))
    return set().union(*map(codes, answer)) if isinstance(answer, list | tuple) else set()


WAYS = [Way(version, commit) for version in (1, 2) for commit in (True, False)]
ASKED = [pytest.param(way, name, id=f"{way}-{name}") for way in WAYS for name in way.steps]


def expected(way: Way) -> dict[str, object]:
    """The expected result of a transaction: its record, marker and offset, or only the marker after an abort."""
    return {
        "rows": [(0, 0, None, b"v")] if way.commit else [],
        "end": 2,
        "epoch": way.version,
        "offsets": [7] if way.commit else [],
    }


@pytest.mark.parametrize(("way", "name"), ASKED)
def test_a_request_that_arrives_several_times_has_one_effect_and_one_answer(lab, faults, way, name):
    """A request that takes effect twice would double records, or end the next transaction."""
    one = Transaction(lab, way)
    repeated = faults.add(Repeat(name, copies=5, transactional_id=one.id))

    found = one.run(name, Transaction.ask)

    assert found == expected(way)
    assert repeated.answers == [repeated.answers[0]] * 5


@pytest.mark.parametrize(("way", "name"), ASKED)
def test_a_repeated_request_after_a_lost_answer_uses_up_no_epoch(lab, faults, way, name):
    """COR-05, COR-08: the client cannot know whether its request took effect, so asking again must be safe."""
    one = Transaction(lab, way)
    lost = faults.add(Lose(name, times=3, transactional_id=one.id))

    def insist(one: Transaction, step: Step) -> None:
        for _ in range(3):
            with pytest.raises(NoAnswerError):
                one.ask(step)
        one.ask(step)

    found = one.run(name, insist)

    assert len(lost.firings) == 3
    assert found == expected(way)


SENT = [b"0", b"1", b"2", b"3", b"4", b"5"]


@pytest.mark.parametrize("order", [[0, 2, 1], [0, 4, 3, 2, 1], [0, 3, 1, 4, 2]], ids=str)
def test_batches_out_of_order_are_refused_until_their_turn_and_stored_once(lab, order):
    """OutOfOrderSequence for what comes too early, a window of five batches for what comes twice."""
    one = Transaction(lab)
    one.ask(STEPS["AddPartitionsToTxn"])
    refused = [send(one, number) for number in order]
    waiting = sorted(number for number, code in zip(order, refused, strict=True) if code)

    again = [send(one, number) for number in waiting]
    twice = [send(one, number) for number in sorted(order)]

    assert set(refused) <= {Code.NONE, Code.OUT_OF_ORDER_SEQUENCE_NUMBER}
    assert waiting
    assert {*again, *twice} == {Code.NONE}
    one.ask(STEPS["EndTxn"])
    assert lab.values(one.topic) == SENT[: max(order) + 1]


def send(one: Transaction, number: int) -> int:
    batch = encode_batch(None, [SENT[number]], 0, producer=one.producer, base_sequence=number, transactional=True)
    return max(codes(one.answer_to(Step(apis.PRODUCE, lambda _: producing([(one.topic, 0, batch)], one.id)))))
