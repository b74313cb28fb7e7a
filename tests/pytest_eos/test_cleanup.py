"""Topics and groups that tests create on a running cluster are deleted, or kept by an option."""

from __future__ import annotations

import contextlib
from importlib import import_module

import pytest
from tests.pytest_eos.counter import CounterConnector

from eosfw.concurrency import ThreadRuntime
from eosfw.protocols import NewTopic
from eosfw.records import ProducerRecord
from pytest_eos.environment.clusters.cleanup import CreatedResources
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
WAIT = 30.0
CLIENTS = {
    "memory": "eosfw_memory.client.admin.admin",
    "confluent": "eosfw_confluent.admin",
    "kafka-python": "eosfw_kafka_python.admin",
}
with contextlib.suppress(ImportError):  # tests inside tests must not load a C library again
    import_module("confluent_kafka.admin")
TESTS = """\
import pytest
from tests.pytest_eos.counter import CounterConnector
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from pytest_eos.contracts import BackendContract

@pytest.mark.eos_zombie(at="commit")
def test_a_run(eos):
    run = eos.run(CounterConnector, {"topic": "numbers-NAME"})
    eos.assert_exactly_once(run, run.source_records())

def test_by_hand(eos):
    eos.backend.admin().create_topics([NewTopic("mine-NAME")])
    producer = eos.backend.producer("writer-NAME")
    producer.init_transactions(10.0)
    producer.begin_transaction()
    producer.send_offsets({TopicPartition("mine-NAME", 0): 3}, ConsumerGroupMetadata("readers-NAME"), 10.0)
    producer.commit_transaction(10.0)
    producer.begin_transaction()
    from eosfw.records import ProducerRecord
    producer.send(ProducerRecord("mine-NAME", b"left open"))
    producer.flush(10.0)

class TestContract(BackendContract):
    @pytest.fixture
    def backend(self, eos):
        return eos.backend
"""
SOME = "a_run or by_hand or delete or offsets_of_a_group_commit or topics_are_created"


@pytest.fixture
def backend(cluster):
    connected = (
        installed_plugins().backend("memory").connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())
    )
    yield connected
    connected.close()


@pytest.fixture
def foreign(backend, request):
    """A topic that was there before; its name makes the names of this test's own."""
    name = f"foreign-{abs(hash(request.node.nodeid)) % 10**9}"
    backend.admin().create_topics([NewTopic(name)])
    return name


def run(pytester, cluster, foreign, *arguments):
    pytester.makepyfile(TESTS.replace("NAME", foreign))
    address = f"--eos-bootstrap-servers={cluster.bootstrap_servers}"
    return pytester.runpytest_inprocess("-pno:cacheprovider", "-k", SOME, address, "--eos-patience=30", *arguments)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("client", CLIENTS)
def test_topics_and_groups_that_tests_made_are_removed(pytester, monkeypatch, cluster, backend, foreign, client):
    """Other topics stay; open transactions are aborted, so that no reader waits for their timeout."""
    pytest.importorskip(CLIENTS[client])
    created = _record_created_topics(monkeypatch, client, cluster)
    admin = backend.admin()

    result = run(pytester, cluster, foreign, f"--eos-backend={client}")

    assert set(result.parseoutcomes()) <= {"passed", "deselected"}
    assert {f"mine-{foreign}", f"numbers-{foreign}"} < created
    assert _until_gone(admin, created) == set()
    assert foreign in admin.partitions()
    assert admin.delete_groups([f"readers-{foreign}"])[f"readers-{foreign}"] is not None, "the group was still there"
    ids = "* transactional ids stay until the cluster forgets them (transactional.id.expiration.ms)"
    result.stdout.fnmatch_lines([f"cluster {cluster.bootstrap_servers}: removed * topics, * consumer groups; {ids}"])
    (reported,) = admin.describe_transactions([f"writer-{foreign}"]).values()
    assert reported.started is None, "a transaction was left open"


def test_an_option_keeps_what_tests_made(pytester, cluster, backend, foreign):
    """To look at it afterwards."""
    result = run(pytester, cluster, foreign, "--eos-keep", "-k", "by_hand")

    result.assert_outcomes(passed=1, deselected=result.parseoutcomes()["deselected"])
    assert f"mine-{foreign}" in backend.admin().partitions()
    result.stdout.fnmatch_lines(
        [f"cluster {cluster.bootstrap_servers}: 1 topic, 1 consumer group, 1 transactional id stay (--eos-keep)"]
    )


def test_an_embedded_cluster_of_a_test_needs_no_clearing_up(pytester):
    """It is gone with the test: nothing is said."""
    pytester.makepyfile(TESTS)

    result = pytester.runpytest_inprocess("-pno:cacheprovider", "-k", "by_hand")

    result.assert_outcomes(passed=1, deselected=result.parseoutcomes()["deselected"])
    result.stdout.no_fnmatch_line("*cluster *removed*")


def test_an_existing_topic_is_never_removed(pytester, cluster, backend, foreign):
    """A topic that existed before a test wrote to it keeps its records."""
    pytester.makepyfile(
        f"""
        from tests.pytest_eos.counter import CounterConnector
        def test_it(eos): eos.run(CounterConnector, {{"topic": "{foreign}"}})
        """
    )

    result = pytester.runpytest_inprocess(
        "-pno:cacheprovider", f"--eos-bootstrap-servers={cluster.bootstrap_servers}", "--eos-patience=30"
    )

    result.assert_outcomes(passed=1)
    assert foreign in backend.admin().partitions()


def test_the_next_test_may_run_the_same_pipeline(pytester, cluster, backend, foreign):
    """Topics have the names in the file: each test deletes its own; foreign records are refused before the run."""
    plain = backend.producer(None)
    plain.send(ProducerRecord(foreign, b"somebody's"))
    plain.flush(WAIT)
    pytester.makepyfile(
        f"""
        import pytest
        from tests.pytest_eos.counter import CounterConnector

        def pipeline(topic):
            return {{"connectors": {{"counts": {{"connector.class": CounterConnector, "topic": topic}}}}}}

        @pytest.mark.parametrize("time", range(2))
        def test_it(eos, time):
            run = eos.run_pipeline(pipeline("own-{foreign}"))
            eos.assert_exactly_once(eos.topic("own-{foreign}"), run.connector().source_records(), key="headers")

        def test_used(eos):
            with pytest.raises(pytest.UsageError, match="topics {foreign} of the pipeline hold records already"):
                eos.run_pipeline(pipeline("{foreign}"))
            assert not eos.history.events()
        """
    )

    result = pytester.runpytest_inprocess(
        "-pno:cacheprovider", f"--eos-bootstrap-servers={cluster.bootstrap_servers}", "--eos-patience=30"
    )

    result.assert_outcomes(passed=3)


def test_a_topic_that_another_test_deletes_meanwhile_does_not_disturb_a_run(eos, monkeypatch):
    """Tests in several processes share a cluster, and a run begins with the end offsets of all topics."""
    admin = eos.backend.admin()
    admin.create_topics([NewTopic("theirs")])
    partitions = type(admin).partitions

    def listed_before_the_deletion(self, topics=None):
        found = partitions(self, topics)
        admin.delete_topics(["theirs"])
        return found

    monkeypatch.setattr(type(admin), "partitions", listed_before_the_deletion)
    run = eos.run(CounterConnector)

    eos.assert_exactly_once(run, run.source_records())


def test_a_backend_that_cannot_delete_says_what_stays(cluster, monkeypatch):
    """Bad input: a third party's client without the capability, then a cluster that is gone."""
    from dataclasses import replace

    kind = installed_plugins().backend("memory")
    made = CreatedResources(prefixes={"no-such-"}, topics={"x"})
    made.clusters[cluster.bootstrap_servers] = ("memory", {"bootstrap.servers": cluster.bootstrap_servers})
    monkeypatch.setattr(kind, "capabilities", replace(kind.capabilities, delete_topics=False))

    (message,) = made.lines()

    assert message.endswith("stay (backend 'memory' does not declare delete_topics)")
    nowhere = {"bootstrap.servers": "127.0.0.1:1", "default.api.timeout.ms": "300"}
    made.clusters = {"127.0.0.1:1": ("memory", nowhere)}
    (message,) = made.lines()
    assert message.startswith("cluster 127.0.0.1:1: could not remove what tests made: ")


def _record_created_topics(monkeypatch, name, cluster):
    """The names of all topics that a backend's admin client creates from now on: others use the cluster, too."""
    connect = installed_plugins().backend(name).connect
    with contextlib.closing(connect({"bootstrap.servers": cluster.bootstrap_servers}, ThreadRuntime())) as connected:
        client = type(connected.admin())
    created, create_topics = set(), client.create_topics

    def record(self, topics):
        created.update(topic.name for topic in topics)
        return create_topics(self, topics)

    monkeypatch.setattr(client, "create_topics", record)
    return created


def _until_gone(admin, topics):
    """Those that are left: a broker answers before a topic is gone everywhere."""
    clock = ThreadRuntime()
    deadline = clock.now() + WAIT
    while (left := topics & admin.partitions().keys()) and clock.now() < deadline:
        clock.sleep(0.05)
    return left
