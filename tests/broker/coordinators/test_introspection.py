"""Listing, describing and ending transactions as an operator, on both clusters (KIP-664)."""

from __future__ import annotations

import uuid

import pytest

from conformance.calls import Caller
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code

LIST_TRANSACTIONS, API_VERSIONS = 66, 18


@pytest.fixture
def caller(cluster):
    made = Caller(cluster.bootstrap_servers)
    yield made
    made.close()


@pytest.fixture
def run(caller):
    """A name for this test alone, of a topic with one partition, too."""
    name = f"look-{uuid.uuid4().hex[:8]}"
    caller.create(name, 1)
    caller.warm_up(name, TopicPartition(name, 0))
    return name


@pytest.fixture
def three(caller, run):
    """An id that rests, one with an open transaction, one that committed."""
    where = TopicPartition(run, 0)
    made = {}
    for state in ("rests", "open", "done"):
        name = f"{run}-{state}"
        caller.warm_up(name, where)
        begun = caller.init(name)
        assert begun.code is Code.NONE
        made[state] = begun.producer
    assert caller.produce(f"{run}-open", made["open"], where, 0).code is Code.NONE
    assert caller.produce(f"{run}-done", made["done"], where, 0).code is Code.NONE
    done = caller.end(f"{run}-done", made["done"])
    assert done.code is Code.NONE
    made["done"] = done.producer
    caller.settled(f"{run}-done")
    return made


def listed(caller, run, **filters):
    """The ids of this test that pass, with their states."""
    wanted = {"state_filters": (), "producer_id_filters": (), "duration_filter": -1, "transactional_id_pattern": None}
    answer = caller.ask(LIST_TRANSACTIONS, 2, **{**wanted, **filters})
    assert answer["error_code"] == Code.NONE
    found = {each["transactional_id"]: each["transaction_state"] for each in answer["transaction_states"]}
    return {name.removeprefix(f"{run}-"): state for name, state in found.items() if name.startswith(f"{run}-")}


def test_ids_are_listed_by_state_producer_id_and_duration(caller, run, three):
    """COR-18."""
    assert listed(caller, run) == {"rests": "Empty", "open": "Ongoing", "done": "CompleteCommit"}
    assert listed(caller, run, state_filters=("Ongoing",)) == {"open": "Ongoing"}
    assert listed(caller, run, producer_id_filters=(three["rests"].producer_id,)) == {"rests": "Empty"}
    assert "open" not in listed(caller, run, duration_filter=3_600_000)
    assert "open" in listed(caller, run, duration_filter=0)


def test_a_pattern_lists_every_id_that_it_matches(caller, run, three):
    """COR-18."""
    assert listed(caller, run, transactional_id_pattern=".*-(open|done)").keys() == {"open", "done"}


def test_a_hanging_transaction_is_found_by_producer_and_ended_by_marker(caller, run, three):
    """COR-18: with the writer's ids, and the epoch of the coordinator that wrote there last or 0."""
    where = TopicPartition(run, 0)
    [hanging] = [each for each in caller.writers(where) if each["current_txn_start_offset"] >= 0]
    assert hanging["producer_id"] == three["open"].producer_id
    writer = ProducerIdAndEpoch(hanging["producer_id"], hanging["producer_epoch"])

    assert caller.mark(writer, where, 0).code is Code.NONE

    assert all(each["current_txn_start_offset"] < 0 for each in caller.writers(where))


def test_the_transaction_version_is_reported_as_a_feature(caller):
    """KIP-890, KIP-584: by this feature clients of Kafka 4 decide to use one epoch per transaction."""
    message = {"client_software_name": "eosfw", "client_software_version": "1"}
    answer = caller.ask(API_VERSIONS, 4, **message)
    feature = "transaction.version"

    [supported] = [each for each in answer["supported_features"] if each["name"] == feature]
    [finalized] = [each for each in answer["finalized_features"] if each["name"] == feature]
    assert (supported["min_version"], supported["max_version"]) == (0, 2)
    assert (finalized["min_version_level"], finalized["max_version_level"]) == (2, 2)
    assert answer["finalized_features_epoch"] >= 0
    assert not any(each["name"] == feature for each in caller.ask(API_VERSIONS, 3, **message)["supported_features"])
