"""Groups of several workers in virtual time: who leads, who runs what, what happens when one of them goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.herder.worker_groups import PLUGINS, SESSION, SlowConnector, Workers, workers

from eosfw.errors import ConfigError
from eosfw.ids import ConnectorTaskId, leader_transactional_id
from eosfw.observe import Gates
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from eosfw.runtime import worker_config
from eosfw.state.steps import TaskStep
from eosfw.state.storage.config_records import WRITER, task_records


@pytest.fixture
def group():
    with workers() as made:
        yield made


@pytest.fixture
def prompt_group():
    """Lost tasks wait for nobody."""
    with workers(scheduled_rebalance_max_delay_ms="0") as made:
        yield made


def started(group: Workers, *names: str, tasks: int) -> None:
    """Start workers and a connector whose tasks they share evenly."""
    for name in names:
        group.start(name)
    group.put(tasks)
    each, rest = divmod(tasks, len(names))
    group.until_shared(*(each + (place < rest) for place in range(len(names))))


def test_a_joining_worker_gets_its_share_and_nothing_else_moves(group):
    """KIP-415: the tasks that stay are not even restarted."""
    started(group, "a", "b", tasks=5)
    before = {name: group.running(name) for name in "ab"}

    group.start("c")
    group.until_shared(2, 2, 1)
    group.until_more()

    assert sum(len(before[name] - group.running(name)) for name in "ab") == 1
    assert all(group.running(name) <= before[name] for name in "ab")
    assert sum(len(group.workers[name].worker_status().retired) for name in "ab") == 1
    group.check_exactly_once()


def test_tasks_of_a_stopped_worker_wait_for_its_return(group):
    """scheduled.rebalance.max.delay.ms: a restart moves nothing, and others are not disturbed."""
    started(group, "a", "b", "c", tasks=5)
    own, others = group.running("c"), {name: group.running(name) for name in "ab"}

    group.stop("c")
    group.runtime.sleep(60)
    assert {name: group.running(name) for name in "ab"} == others
    group.start("c")
    group.until_shared(2, 2, 1)

    assert group.running("c") == own
    assert not any(group.workers[name].worker_status().retired for name in "ab")
    group.until_more()
    group.check_exactly_once()


def test_tasks_of_a_lost_worker_move_after_the_delay():
    """scheduled.rebalance.max.delay.ms, counted from when the worker was missed."""
    with workers(scheduled_rebalance_max_delay_ms="40000") as group:
        started(group, "a", "b", tasks=5)
        group.kill("b")
        group.runtime.sleep(35)
        assert sum(group.shares().values()) < 5

        group.until_shared(5)

        group.until_more()
        group.check_exactly_once()


@pytest.mark.parametrize("whom", ["leader", "follower"])
def test_a_crashed_worker_is_replaced_by_the_session_timeout(prompt_group, whom):
    """Nothing but the group's own timeouts (CFG-10); the numbers go on where they were committed."""
    group = prompt_group
    started(group, "a", "b", "c", tasks=5)
    group.until_more()
    victim = group.leader_name() if whom == "leader" else group.follower_name()
    began = group.runtime.now()

    group.kill(victim)

    group.until(lambda: sum(group.shares().values()) == 5, "all tasks on the others")
    assert group.runtime.now() - began < SESSION + 5
    group.until_more()
    group.check_exactly_once()
    assert group.failures() == []


@pytest.mark.parametrize("protocol", ["eager", "compatible", "sessioned"])
def test_task_counts_change_while_workers_come_and_go(protocol):
    """3, 5, 1, 5, 3 tasks on two to four workers, by each protocol (FEN-15); one alone has session keys (SEC-03)."""
    with workers(connect_protocol=protocol, scheduled_rebalance_max_delay_ms="0") as group:
        group.start("a")
        group.start("b")
        for count, come, go in [(3, "c", ""), (5, "", "a"), (1, "d", "b"), (5, "a", "c"), (3, "", "")]:
            group.put(count)
            if come:
                group.start(come)
            if go:
                group.stop(go)
            group.until(lambda count=count: sum(group.shares().values()) == count, f"{count} tasks")
            group.until_more()
        shares = group.shares().values()
        assert max(shares) - min(shares) <= 1
        has_key = group.leader()._services.topic.session_keys.current is not None
        assert has_key is (protocol == "sessioned")
        group.check_exactly_once()
        assert group.failures() == []


def test_a_task_is_given_away_though_its_worker_never_acknowledges():
    """rebalance.timeout.ms; the task of before is fenced."""
    with workers(rebalance_timeout_ms="15000") as group, Gates(group.runtime) as gates:
        started(group, "a", tasks=5)
        leader = group.leader_name()
        group.start("b", gates)
        group.until_shared(2, 3)
        gate = gates.freeze(TaskStep.ACKNOWLEDGE_ASSIGNMENT)
        group.start("c")
        group.until(lambda: gate.fired or len(group.running("c")) == 1, "a task that moves")
        group.until(lambda: sorted(len(group.running(name)) for name in "ac") in ([1, 2], [2, 2]), "shares")

        gate.open()

        group.until_shared(1, 2, 2)
        group.until_more()
        assert group.leader_name() == leader
        group.check_exactly_once()


@pytest.mark.parametrize("step", [TaskStep.REQUEST_FENCING, TaskStep.INIT_PRODUCER, TaskStep.CHECK_OWNERSHIP])
def test_a_task_that_sleeps_while_it_moves_stops_when_it_wakes(step):
    """FEN-10, SCN-03: its generation is the newest, but another worker has it, says the group's coordinator."""
    with workers(scheduled_rebalance_max_delay_ms="0") as group, Gates(group.runtime) as gates:
        group.start("a")
        gate = gates.freeze(step, task=0)
        group.start("b", gates)
        group.put(2)
        group.until(lambda: gate.fired or len(group.running("a")) == 1, "the first tasks")
        if not gate.fired:  # task 0 went to the other worker: then it moves
            group.kill("a")
            group.until(lambda: gate.fired, "task 0 in b")
            group.start("c")
        group.backends["b"].frozen = True
        group.until(lambda: sum(group.shares().values()) == 2, "both tasks on another worker")
        group.until_more()

        gate.open()
        group.backends["b"].frozen = False

        group.until_shared(1, 1)
        group.until_more()
        group.check_exactly_once()
        assert group.failures() == []


def test_heartbeats_do_not_wait_for_a_connector_that_is_being_configured(group, monkeypatch, caplog):
    """The leader stays in its group, and leads it, though its herder stands still for three sessions."""
    started(group, "a", "b", tasks=4)
    leader, shares = group.leader_name(), group.shares()
    configured = []

    def slow(connector, config, most):
        group.runtime.sleep(3 * SESSION)
        configured.append(config["name"])
        return split(connector, config, most)

    split = SlowConnector.task_configs
    monkeypatch.setattr(SlowConnector, "task_configs", slow)
    began = group.runtime.now()
    group.put(1, "d")
    group.until(lambda: configured, "the connector to be configured")

    assert group.runtime.now() - began >= 3 * SESSION
    assert (group.leaders(), group.shares()) == ([leader], shares)
    assert not [one for herder in group.workers.values() for one in herder.worker_status().retired]
    assert not [one for one in caplog.messages if "of its group" in one or "without this worker" in one]
    group.until(lambda: sum(group.shares().values()) == 5, "five tasks")


def test_a_disabled_worker_beside_an_enabled_one_gets_nothing(caplog):
    """SCN-04: it would write what nobody can fence; the log names it, and it does not lead either."""
    with workers(exactly_once_source_support="disabled") as group:
        disabled = group.start("a")
        group.put(2)
        group.until_shared(2)
        group.set_worker(exactly_once_source_support="enabled")
        enabled = group.start("b")

        group.until(lambda: group.shares() == {"a": 0, "b": 2}, "all tasks on the enabled worker")
        group.until(lambda: enabled.leads() and not disabled.leads(), "an enabled leader")
        assert f"disabled in {disabled.name} and enabled in {enabled.name}" in caplog.text

        group.stop("b")
        group.until(lambda: group.shares() == {"a": 2}, "all tasks back", 400)


def test_without_exactly_once_records_do_not_wait_for_the_commit_of_their_offsets():
    """CFG-01: as in Kafka Connect, whose producer sends them at once."""
    with workers(exactly_once_source_support="disabled", offset_flush_interval_ms="3600000") as group:
        group.start("a")
        group.put(2)
        group.until_shared(2)
        group.until(lambda: len(group.committed()) > 20, "records")

        assert group.leader().connector_offsets("c") == []


def test_two_rolling_upgrades_end_with_exactly_once(group):
    """UPG-01, CFG-11: disabled, preparing, enabled, one worker after the other; then nothing is lost or repeated."""
    group.set_worker(exactly_once_source_support="disabled")
    started(group, "a", "b", "c", tasks=5)
    for mode in ("preparing", "enabled"):
        group.set_worker(exactly_once_source_support=mode)
        for name in "abc":
            group.stop(name)
            group.start(name)
            group.until_shared(1, 2, 2)
    group.until_more()
    group.stop("a")
    group.start("a")
    group.until_shared(1, 2, 2)

    group.until_more()
    group.check_exactly_once()
    assert group.failures() == []


def test_a_worker_that_announces_loopback_to_other_machines_says_so_once(group, caplog, monkeypatch):
    for host, name in (("machine-1", "127.0.0.1"), ("machine-2", "b")):
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        group.start(name)
    group.put(2)
    group.until_shared(1, 1)
    group.until_more()

    told = [one for one in caplog.messages if "workers on other machines" in one]
    assert len(told) == 1
    assert "(machine-2), but this one announces http://127.0.0.1:8083" in told[0]


@pytest.mark.parametrize(
    ("topic", "problem"),
    [
        (NewTopic("members", 1, 1, {"cleanup.policy": "delete"}), "it must be compact alone"),
        (NewTopic("members", 2, 1, {"cleanup.policy": "compact"}), "must have exactly one"),
    ],
    ids=["not compacted", "divided"],
)
def test_an_unfit_members_topic_is_refused_by_name(group, topic, problem):
    """Its order and its newest records are what workers agree on."""
    client = PLUGINS.backend("memory").connect(group.cluster.client, group.runtime)
    client.admin().create_topics([replace(topic, name=f"{group.name}-members")])
    client.close()

    with pytest.raises(ConfigError, match=f"group.id: topic '{group.name}-members' .*{problem}"):
        group.start("a")


@pytest.mark.parametrize("header", [None, "stranger"])
def test_a_foreign_writer_of_the_config_topic_is_named(group, caplog, header):
    """SCN-05: whoever writes task configurations beside the leader voids the guarantees."""
    started(group, "a", "b", tasks=2)
    assert "is no worker of this group" not in caplog.text
    client = PLUGINS.backend("memory").connect(group.cluster.client, group.runtime)
    producer = client.producer(None)
    headers = () if header is None else ((WRITER, header.encode()),)
    topic = worker_config({"group.id": group.name})["config.storage.topic"]
    for key, value in task_records("c", [{"streams": "s0", "until": "0", "topic": group.topic}]):
        producer.send(ProducerRecord(topic, value, key, partition=0, headers=headers))
    producer.flush(10)
    client.close()

    who = header or "a writer that does not name itself"
    group.until(lambda: f"of connector c was committed to the config topic by {who}" in caplog.text, "its name")
    group.until_shared(0, 1)


def test_a_leader_that_is_fenced_claims_again_while_it_is_elected(group):
    """LDR-04: the coordinator says that it still leads, so its request is done all the same."""
    started(group, "a", "b", tasks=2)
    leader = group.leader_name()
    client = PLUGINS.backend("memory").connect(group.cluster.client, group.runtime)
    for count in (3, 4):
        thief = client.producer(leader_transactional_id(group.name))
        thief.init_transactions(10)

        group.put(count)

        group.until(lambda count=count: sum(group.shares().values()) == count, f"{count} tasks")
    assert group.leader_name() == leader
    client.close()
    group.until_more()
    group.check_exactly_once()


def test_tasks_start_while_a_rebalance_is_pending(group):
    """FEN-07 (KAFKA-15059): their fencing is not refused because another task has still to move."""
    with Gates(group.runtime) as gates:
        started(group, "a", tasks=4)
        group.start("b", gates)
        group.until_shared(2, 2)
        group.put(3, "d")
        group.until(lambda: sum(group.shares().values()) == 7, "seven tasks")
        gate = gates.freeze(TaskStep.ACKNOWLEDGE_ASSIGNMENT)
        group.start("c")
        group.until(lambda: gate.fired, "a task that moves from b")

        group.put(3, "e")

        group.until(
            lambda: any(task.connector == "e" for name in "ac" for task in group.running(name)),
            "a task of the new connector",
            patience=20.0,
        )
        assert not gate.freeze.until


def test_tasks_that_hang_are_given_one_timeout_together():
    """FEN-12: they stop in parallel, what does not stop is left behind and fenced; others are not disturbed."""
    with workers(task_shutdown_graceful_timeout_ms="5000") as group, Gates(group.runtime) as gates:
        group.start("a", gates)
        group.put(2, "d")
        group.put(5)
        group.until_shared(7)
        held = [gates.freeze(TaskStep.POLL, connector="c", task=number) for number in range(5)]
        group.until(lambda: all(gate.fired for gate in held), "five tasks that hang")
        began = group.runtime.now()

        group.put(4)
        group.until(lambda: len(group.running("a")) == 6, "the next generation")

        assert 5.0 <= group.runtime.now() - began < 9.0
        assert len(group.workers["a"].worker_status().zombies) == 5
        assert all(one.id.connector == "c" for one in group.workers["a"].worker_status().retired)
        gates.close()
        group.until(lambda: not group.workers["a"].worker_status().zombies, "the end of the zombies")
        group.until_more()
        group.check_exactly_once()


def test_ownership_is_the_coordinators_answer_not_memory(group):
    """FEN-10: the newest assignment still names a worker that its group has put out; the task is not its own."""
    started(group, "a", tasks=2)
    member = group.workers["a"]._parts.services.member
    task = ConnectorTaskId("c", 0)
    assert member.is_assigned(task, 0)
    answers = []

    group.backends["a"].frozen = True
    group.runtime.sleep(SESSION + 5)
    group.runtime.spawn("asks", lambda: answers.append(member.is_assigned(task, 0)))
    group.runtime.sleep(1)
    assert answers == []
    group.backends["a"].frozen = False

    group.until(lambda: bool(answers), "an answer")
    assert answers == [False]
    group.until_shared(2)
    assert len(group.workers["a"].worker_status().retired) == 2
    group.until_more()
    group.check_exactly_once()
