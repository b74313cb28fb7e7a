"""The contract of every backend's admin client for transactions (KIP-664, KIP-618)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from eosfw.errors import (
    EosfwError,
    FatalError,
    IllegalStateError,
    InvalidProducerEpochError,
    ProducerFencedError,
    TransactionalIdNotFoundError,
    TransactionNotFoundError,
    UnsupportedError,
)
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, ConsumerGroupMetadata, TransactionalProducer
from eosfw.records import ProducerBatch
from eosfw.transactions import TransactionDescription, TransactionFilters, TransactionState
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, commit, record

IN_TIME = FenceProducersOptions(WAIT)
ONE = TopicPartition("topic", 0)
NEEDS: dict[str, tuple[str, Callable[[Admin], object]]] = {
    "list_transactions": ("describe_transactions", lambda admin: admin.list_transactions()),
    "describe_transactions": ("describe_transactions", lambda admin: admin.describe_transactions(["id"])),
    "describe_producers": ("describe_transactions", lambda admin: admin.describe_producers([ONE])),
    "open_transactions": ("describe_transactions", lambda admin: admin.open_transactions([ONE])),
    "abort_transaction": ("abort_transactions", lambda admin: admin.abort_transaction(ONE, 0)),
}


def _send_and_flush(zombie: TransactionalProducer, topic: str) -> None:
    zombie.send(record(topic, b"late"))
    zombie.flush(WAIT)


def _send_batch_and_commit(zombie: TransactionalProducer, topic: str) -> None:
    zombie.send_batch(ProducerBatch(topic, [b"late"], partition=0))
    zombie.commit_transaction(WAIT)


def _send_offsets(zombie: TransactionalProducer, topic: str) -> None:
    zombie.send_offsets({TopicPartition(topic, 0): 1}, ConsumerGroupMetadata(topic), WAIT)


NOTICES: dict[str, Callable[[TransactionalProducer, str], None]] = {
    "send and flush": _send_and_flush,
    "send_batch and commit": _send_batch_and_commit,
    "send_offsets": _send_offsets,
    "commit": lambda zombie, _: zombie.commit_transaction(WAIT),
    "abort": lambda zombie, _: zombie.abort_transaction(WAIT),
}
"""The calls by which a zombie learns that it is fenced, from its coordinator or from a partition."""
describes = pytest.mark.eos_needs("transactions", "describe_transactions")


class AdministrationContract(BackendUnderTestFixtures):
    """Part of BackendContract."""

    def test_every_admin_client_tells_one_cluster_id(self, lab: BackendHarness) -> None:
        """OFF-07: by it two addresses are known to be those of one cluster."""
        with contextlib.closing(lab.backend.admin()) as other:
            assert lab.admin.cluster_id() == other.cluster_id()
            assert lab.admin.cluster_id()

    # --- fencing

    @pytest.mark.eos_needs("transactions")
    def test_fencing_has_an_answer_for_each_id_and_one_for_all(self, lab: BackendHarness) -> None:
        """ADM-01: an id with an open transaction, one without, and one that was never used."""
        topic = lab.topic()
        busy, idle = lab.open_transaction(topic, b"half"), lab.producer()
        names = [str(busy.transactional_id), str(idle.transactional_id), lab.name()]

        result = lab.admin.fence_producers(names, IN_TIME)

        result.all().result(WAIT)
        assert {name: future.error() for name, future in result.fenced().items()} == dict.fromkeys(names)
        with pytest.raises(ProducerFencedError):
            busy.commit_transaction(WAIT)
        with pytest.raises(ProducerFencedError):
            commit(idle, topic, b"late")
        assert lab.values(topic) == []

    @pytest.mark.eos_needs("transactions")
    def test_fencing_again_keeps_the_producer_id_and_raises_the_epoch(self, lab: BackendHarness) -> None:
        """ADM-01: a client that is not told them, capability `fence_by_init_producer_id`, invents no number."""
        own = lab.name()
        results = [lab.admin.fence_producers([own], IN_TIME)]
        results[0].all().result(WAIT)
        results.append(lab.admin.fence_producers([own], IN_TIME))

        ids = [result.producer_id(own).result(WAIT) for result in results]
        first, second = [result.epoch(own).result(WAIT) for result in results]

        if lab.backend.capabilities.lacking("fence_by_init_producer_id"):
            assert [*ids, first, second] == [None] * 4
        else:
            assert (ids[0] is not None, ids[0]) == (True, ids[1])
            assert second == (first or 0) + 1

    @pytest.mark.eos_needs("transactions")
    def test_closing_the_admin_client_fails_what_is_not_fenced_yet(self, lab: BackendHarness) -> None:
        """Common rules of the protocols: every waiting caller gets an answer."""
        nowhere = type(lab.backend).connect({"bootstrap.servers": "127.0.0.1:1"}, lab.runtime)
        admin = nowhere.admin()
        result = admin.fence_producers(["a"], FenceProducersOptions(WAIT))

        admin.close()
        nowhere.close()

        assert isinstance(result.fenced()["a"].error(WAIT), EosfwError)
        with pytest.raises(IllegalStateError):
            admin.fence_producers(["b"])

    @describes
    def test_the_time_that_fencing_may_take_is_not_stored_with_the_id(self, lab: BackendHarness) -> None:
        """ADM-03: Java's client stores it as the transaction timeout of the next owner."""
        short, long = lab.name(), lab.name()
        lab.admin.fence_producers([short], FenceProducersOptions(WAIT)).outcomes()
        lab.admin.fence_producers([long], FenceProducersOptions(2 * WAIT)).outcomes()

        assert _described(lab, short).timeout == _described(lab, long).timeout

    @pytest.mark.eos_needs("transactions")
    @pytest.mark.parametrize("call", NOTICES)
    def test_every_call_of_a_fenced_producer_raises_the_same_error(self, lab: BackendHarness, call: str) -> None:
        """PRD-08: clients raise many errors for it, callers get one; no late record becomes visible."""
        topic = lab.topic()
        zombie = lab.open_transaction(topic, b"half")
        lab.admin.fence_producers([str(zombie.transactional_id)], IN_TIME).all().result(WAIT)

        with pytest.raises(ProducerFencedError):
            _noticed(zombie, lambda: NOTICES[call](zombie, topic))

        with pytest.raises((FatalError, IllegalStateError)):
            zombie.begin_transaction()
        assert lab.values(topic) == []

    # --- describing

    @pytest.mark.parametrize("call", NEEDS)
    def test_a_request_beyond_the_backend_is_refused_with_the_missing_capability(
        self, lab: BackendHarness, call: str
    ) -> None:
        """COR-18, capabilities `describe_transactions` and `abort_transactions`: an empty answer would be wrong."""
        capability, ask = NEEDS[call]
        if not lab.backend.capabilities.lacking(capability):
            pytest.skip(f"backend {lab.backend.name!r} declares {capability}")

        with pytest.raises(UnsupportedError, match=capability):
            ask(lab.admin)

    @describes
    def test_an_open_transaction_is_described_with_its_partitions(self, lab: BackendHarness) -> None:
        """COR-18: state, producer, timeout and start; start and partitions are gone once the transaction has ended."""
        topic = lab.topic(partitions=2)
        producer = lab.open_transaction(topic, b"v", timeout=45.0)
        own = str(producer.transactional_id)

        open_ = _described(lab, own)

        assert (open_.transactional_id, open_.state) == (own, TransactionState.ONGOING)
        assert (open_.partitions, open_.timeout) == (frozenset({TopicPartition(topic, 0)}), 45.0)
        assert open_.started is not None
        assert abs(open_.started / 1000 - lab.runtime.wall()) < WAIT
        producer.commit_transaction(WAIT)
        lab.values(topic)  # until the marker is written
        over = lab.until(lambda: _described(lab, own), lambda one: one.state is TransactionState.COMPLETE_COMMIT)
        assert (over.started, over.partitions) == (None, frozenset())

    @describes
    def test_an_unknown_id_is_not_found_and_other_ids_are_answered(self, lab: BackendHarness) -> None:
        """COR-18: TransactionalIdNotFoundError for that id only."""
        known, unknown = str(lab.producer().transactional_id), lab.name()

        descriptions = lab.admin.describe_transactions([known, unknown])

        assert isinstance(descriptions[known], TransactionDescription)
        assert isinstance(descriptions[unknown], TransactionalIdNotFoundError)
        assert unknown in str(descriptions[unknown])

    @describes
    def test_transactional_ids_are_listed_by_state_by_producer_and_by_age(self, lab: BackendHarness) -> None:
        """COR-18: each filter by itself."""
        topic = lab.topic()
        busy, idle = lab.open_transaction(topic, b"v"), lab.producer()
        names = {str(busy.transactional_id), str(idle.transactional_id)}
        holder = _described(lab, str(busy.transactional_id)).producer.producer_id

        def listed(filters: TransactionFilters) -> set[str]:
            return names & {each.transactional_id for each in lab.admin.list_transactions(filters)}

        assert listed(TransactionFilters()) == names
        assert listed(TransactionFilters(states=[TransactionState.ONGOING])) == {busy.transactional_id}
        assert listed(TransactionFilters(states=[TransactionState.EMPTY])) == {idle.transactional_id}
        assert listed(TransactionFilters(producer_ids=[holder])) == {busy.transactional_id}
        assert listed(TransactionFilters(older_than=3600.0)) == set()

    @describes
    def test_a_partition_lists_its_producers_and_open_transactions_with_start_time(self, lab: BackendHarness) -> None:
        """COR-18: the first offset of the open transaction, and none after its end."""
        topic = lab.topic()
        lab.write(topic, b"before")
        one = TopicPartition(topic, 0)
        producer = lab.open_transaction(topic, b"a", b"b")
        holder = _described(lab, str(producer.transactional_id)).producer

        (state,) = [each for each in lab.admin.describe_producers([one])[one] if each.producer == holder]

        assert (state.open_since, state.last_sequence) == (1, 1)
        producer.commit_transaction(WAIT)
        lab.values(topic)
        assert [each for each in lab.admin.describe_producers([one])[one] if each.open_since is not None] == []

    # --- aborting in one partition

    @pytest.mark.eos_needs("transactions", "describe_transactions", "abort_transactions")
    def test_a_transaction_is_aborted_in_one_partition_by_its_start_offset(self, lab: BackendHarness) -> None:
        """COR-18, KIP-664: the last stable offset moves in that partition only."""
        topic = lab.topic(partitions=2)
        producer = lab.open_transaction(topic, b"held")
        producer.send(record(topic, b"held", partition=1))
        producer.flush(WAIT)
        holder = _described(lab, str(producer.transactional_id)).producer

        aborted = lab.admin.abort_transaction(TopicPartition(topic, 0), 0)

        assert aborted.producer.producer_id == holder.producer_id
        lab.until(lambda: lab.end(topic, COMMITTED), lambda end: end == lab.end(topic, UNCOMMITTED))
        assert lab.end(topic, COMMITTED, partition=1) == 0
        assert lab.visible(topic) == []

    @pytest.mark.eos_needs("describe_transactions", "abort_transactions")
    def test_an_abort_without_an_open_transaction_changes_nothing(self, lab: BackendHarness) -> None:
        """COR-18: a mistyped offset must not abort another transaction; the error names the open ones."""
        topic = lab.topic()
        lab.write(topic, b"before")
        lab.open_transaction(topic, b"held")

        with pytest.raises(TransactionNotFoundError, match=r"0; open since: 1"):
            lab.admin.abort_transaction(TopicPartition(topic, 0), 0)

        assert lab.end(topic, COMMITTED) == 1


def _noticed(zombie: TransactionalProducer, call: Callable[[], object]) -> None:
    try:
        call()
    except InvalidProducerEpochError:  # a partition checks epochs only; the coordinator knows about fencing
        zombie.abort_transaction(WAIT)


def _described(lab: BackendHarness, transactional_id: str) -> TransactionDescription:
    description = lab.admin.describe_transactions([transactional_id])[transactional_id]
    if isinstance(description, EosfwError):
        raise description
    return description
