"""The marker `eos_cluster(rights=...)`: users that may do what it says, and nothing else (KIP-618's rights)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, EosfwError
from eosfw.protocols import NewTopic
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings
from pytest_eos.verdict import minimal_rights

from .kafka_rights import KafkaWithRights

PROPERTIES = {"topic": "counts", "streams": 2, "until": 8, "tasks.max": 2}
# KIP-618: those of the leader, those of the tasks and of their fencing, and topics.
LEADER = ("Write on transactional-id connect-cluster-g", "Describe on transactional-id connect-cluster-g")
TASKS = ("Write on transactional-id g-counter-*", "Describe on transactional-id g-counter-*")
TOPICS = ("All on topic g-*", "Write on topic counts", "Create on topic counts")
WORKER = (*LEADER, *TASKS, *TOPICS)


@pytest.mark.eos_cluster(rights={"worker": WORKER})
def test_a_worker_runs_with_the_rights_of_its_user(eos):
    """ACL-15: the harness itself has all rights."""
    eos.worker("g", user="worker")

    made = eos.run(CounterConnector, PROPERTIES)

    eos.assert_exactly_once(made, made.source_records())


@pytest.mark.eos_cluster(rights={"worker": WORKER})
@pytest.mark.parametrize("missing", [*LEADER[:1], *TASKS[:1], "Write on topic counts"])
def test_a_worker_fails_without_one_of_its_rights(eos, eos_cluster, missing):
    """ACL-15, ACL-01, ACL-02: the id of the leader, those of the tasks, the topic of the records."""
    eos_cluster.revoke("worker", missing)
    eos.worker("g", user="worker")

    with pytest.raises((EosfwError, pytest.fail.Exception), match=r"(?i)authoriz"):
        eos.run(CounterConnector, PROPERTIES)


@pytest.mark.eos_cluster(rights={"connector": []})
def test_a_connector_needs_each_right_of_the_plan_and_no_other(eos):
    """ACL-16: two tasks."""
    made = eos.run(CounterConnector, {"topic": "counts", "streams": 2, "until": 4, "tasks.max": 2})

    eos.assert_minimal_rights(made)


@pytest.mark.eos_cluster(rights={"connector": []})
def test_a_right_that_is_missing_in_the_plan_and_one_that_nobody_needs_are_named(eos, monkeypatch):
    """ACL-16."""
    made = eos.run(CounterConnector, {"topic": "counts", "streams": 1, "until": 2, "tasks.max": 1})
    plan = minimal_rights.acl_plan

    def changed(*given):
        found = plan(*given)
        spare = replace(found[-1], name="nobody's", operations=("Read",))
        return [*(one for one in found if one.name != "counts" or leaves[0]), spare]

    monkeypatch.setattr(minimal_rights, "acl_plan", changed)
    leaves = [False]
    with pytest.raises(AssertionError, match=r"cannot run with the rights .*(?i:authoriz)"):
        eos.assert_minimal_rights(made)
    leaves = [True]
    with pytest.raises(AssertionError, match=r"are not the least.*\n  Read on topic nobody's: it runs without$"):
        eos.assert_minimal_rights(made)


@pytest.mark.eos_cluster(rights={"alice": ["All on topic t*"], "bob": ["Describe on topic t*"]})
@pytest.mark.eos_backend("memory", "confluent")
def test_a_right_counts_from_when_it_is_given_until_it_is_taken_back(eos_cluster, eos_backend):
    """ACL-15: through each client."""

    def create(user: str, name: str) -> str:
        """What went wrong, or nothing."""
        client = installed_plugins().backend(eos_backend).connect(eos_cluster.client_of(user), ThreadRuntime())
        try:
            with closing(client):
                client.admin().create_topics([NewTopic(name)])
        except EosfwError as why:
            return str(why).lower()
        return ""

    assert create("alice", "t1") == ""
    assert "authoriz" in create("bob", "t2")
    eos_cluster.allow("bob", "Create on cluster")
    assert create("bob", "t2") == ""
    eos_cluster.revoke("bob", "Create on cluster")
    eos_cluster.allow("alice", "Deny Create on topic t3")
    assert "authoriz" in create("alice", "t3")
    assert "authoriz" in create("bob", "t3")


@pytest.mark.eos_cluster(rights={"alice": ()})
def test_a_wrong_sentence_and_an_unknown_user_are_refused(eos_cluster):
    """ACL-15."""
    for sentence in ("Wrote on topic t", "Write topic t", "Write on topics t", "Write on topic", "Create on cluster x"):
        with pytest.raises(ConfigError, match=f"'{sentence}' is no right; write 'Write on topic orders'"):
            eos_cluster.allow("alice", sentence)
    with pytest.raises(ConfigError, match="no user 'carol'"):
        eos_cluster.client_of("carol")


def test_a_cluster_without_rights_names_the_marker_that_gives_them(eos, eos_cluster):
    """Bad input: not the properties of a broker, which the test did not write."""
    marker = r"^this cluster has no users with rights: say @pytest\.mark\.eos_cluster\(rights=\{\.\.\.\}\)$"
    run = eos.run(CounterConnector, {"until": 2})

    for call in (
        lambda: eos.worker(user="alice"),
        lambda: eos_cluster.allow("alice", "Write on topic t"),
        lambda: eos.assert_minimal_rights(run),
    ):
        with pytest.raises(pytest.fail.Exception, match=marker):
            call()


@pytest.mark.kafka
@pytest.mark.nightly
def test_a_connector_needs_each_right_of_the_plan_on_a_real_kafka(secured, tmp_path):
    """ACL-16: half a minute, since confluent-kafka waits so long for a topic that it may not see."""
    given = {"topic": "counts", "streams": 1, "until": 2, "tasks.max": 1}
    settings = HarnessSettings("rights", tmp_path, 0, 60.0)
    with EosHarness(KafkaWithRights.of(secured), "confluent", settings) as eos:
        made = eos.run(CounterConnector, given)

        eos.assert_minimal_rights(made)
