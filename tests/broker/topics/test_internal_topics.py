"""Internal topics are created on first use, and no client can recreate, truncate or forge them."""

from __future__ import annotations

import pytest

from conformance.calls import Caller, commit_plain
from eosfw.concurrency import ThreadRuntime
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code

from ..groups.group_requests import COMMIT, FETCH, FIND, LIST, Raw, code_of, offsets

METADATA, DELETE_RECORDS, DELETE_TOPICS = 3, 21, 20
GROUPS, IDS = "__consumer_offsets", "__transaction_state"
T0 = TopicPartition("t", 0)
STRANGER = ProducerIdAndEpoch(1_000_005, 0)
ONE_EACH = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
ANYBODY = {"generation_id_or_member_epoch": -1, "member_id": "", "group_instance_id": None}


@pytest.fixture
def fresh():
    """A connection to an embedded broker that has served no request yet."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    made = Raw(cluster.bootstrap_servers)
    yield made
    made.close()
    cluster.close()


def commit(raw, group, *topics):
    return raw.ask(COMMIT, 9, group_id=group, **ANYBODY, topics=[each for some in topics for each in some])


def groups(raw):
    return {each["group_id"] for each in raw.ask(LIST, 5, states_filter=(), types_filter=())["groups"]}


@pytest.mark.parametrize(("kind", "name"), [(0, GROUPS), (1, IDS)])
def test_finding_a_coordinator_creates_its_topic(admin, raw, kind, name):
    """COR-01, GRP-02."""
    raw.ask(FIND, 4, key_type=kind, coordinator_keys=("any",))

    asked = [Fields(topic_id=None, name=name)]
    answer = raw.ask(
        METADATA, 12, topics=asked, allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )

    [topic] = answer["topics"]
    assert (topic["error_code"], topic["is_internal"]) == (Code.NONE, True)
    assert raw.create_topic(name) == Code.TOPIC_ALREADY_EXISTS


def test_a_client_made_offsets_topic_serves_groups_on_its_partitions(fresh):
    """GRP-02: no group may look for its partition among more than there are."""
    assert fresh.create_topic(GROUPS, 2) == Code.NONE
    assert fresh.create_topic("t") == Code.NONE

    answers = [code_of(commit(fresh, f"group-{number}", offsets("t", p0=1))) for number in range(20)]

    assert set(answers) == {Code.NONE}
    assert len(groups(fresh)) == 20


def test_records_of_coordinator_topics_cannot_be_deleted(admin, raw):
    """COR-13: what it knows would be gone after the next start."""
    partitions = [Fields(partition_index=number, offset=0) for number in (0, 999)]
    answer = raw.ask(DELETE_RECORDS, 2, topics=[Fields(name=GROUPS, partitions=partitions)], timeout=20_000)

    codes = [each["error_code"] for each in answer["topics"][0]["partitions"]]
    assert codes == [Code.INVALID_TOPIC_EXCEPTION, Code.UNKNOWN_TOPIC_OR_PARTITION]


def test_the_embedded_broker_keeps_its_own_topics(fresh):
    """Stricter than Kafka, whose coordinators forget everything when their topic is deleted."""
    fresh.ask(FIND, 4, key_type=0, coordinator_keys=("g",))

    answer = fresh.ask(DELETE_TOPICS, 6, topics=[Fields(name=GROUPS, topic_id=None)], timeout=20_000)

    assert answer["responses"][0]["error_code"] == Code.INVALID_REQUEST
    assert fresh.create_topic(GROUPS) == Code.TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("metadata", ["", "x" * 5000], ids=["unknown", "known, with too much metadata"])
def test_a_refused_offset_commit_creates_no_group(cluster, raw, new_topic, metadata):
    """GRP-01: nobody has read anything, and a consumer of this group begins where a new one does."""
    topic = new_topic()
    wanted = offsets(topic if metadata else f"no-{topic}", p0=1)
    wanted[0].partitions[0].committed_metadata = metadata

    code = code_of(commit(raw, f"group-{topic}", wanted))

    assert code == (Code.OFFSET_METADATA_TOO_LARGE if metadata else Code.UNKNOWN_TOPIC_OR_PARTITION)
    asked = [Fields(name=topic, partition_indexes=(0,))]
    group = Fields(group_id=f"group-{topic}", member_id=None, member_epoch=-1, topics=asked)
    [answer] = raw.ask(FETCH, 9, groups=[group], require_stable=True)["groups"]
    assert answer["topics"][0]["partitions"][0]["committed_offset"] == -1
    # Kafka makes the group in its memory before it looks at the metadata (OffsetMetadataManager.validateOffsetCommit).
    # It lists the group from then on once anything else is written to the same partition of `__consumer_offsets`.
    if not metadata or cluster.name != "kafka":
        assert f"group-{topic}" not in groups(raw)


def test_offsets_of_unknown_topics_alone_begin_no_transaction(cluster, raw, new_topic):
    """COR-19: in version 2 of transactions the commit itself would add the group's partition."""
    topic, caller = new_topic(), Caller(cluster.bootstrap_servers)
    caller.warm_up(topic, TopicPartition(topic, 0))
    producer = caller.init(topic).producer

    refused = caller.commit_offsets(topic, producer, f"group-{topic}", TopicPartition(f"no-{topic}", 0))

    assert refused.code is Code.UNKNOWN_TOPIC_OR_PARTITION
    assert caller.describe(topic)[0] == "Empty"
    assert f"group-{topic}" not in groups(raw)
    caller.close()


# --- what stands there after a restart


@pytest.fixture
def start(tmp_path):
    """Restarts a broker on the same directory and connects a client."""
    running = []

    def end():
        while running:
            running.pop().close()

    def started() -> Caller:
        end()
        cluster = EmbeddedCluster.start({"log.dirs": str(tmp_path / "data"), **ONE_EACH}, ThreadRuntime())
        caller = Caller(cluster.bootstrap_servers)
        running.extend((cluster, caller))
        return caller

    yield started
    end()


def used(caller: Caller) -> ProducerIdAndEpoch:
    """Write to the logs of both coordinators; return the producer of the id `x`."""
    caller.create("t", 1)
    assert commit_plain(caller, "g", T0, 5).code is Code.NONE
    return caller.init("x").producer


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
def test_foreign_markers_in_internal_topics_are_ignored_at_start(start, commit):
    """COR-14, KIP-664: Kafka writes them, too."""
    caller = start()
    producer = used(caller)

    for topic in (IDS, GROUPS):
        assert caller.mark(STRANGER, TopicPartition(topic, 0), 0, commit=commit).code is Code.NONE
        assert caller.mark(producer, TopicPartition(topic, 0), 0, commit=commit).code is Code.NONE

    caller = start()
    assert caller.describe("x") == ("Empty", producer)
    assert caller.init("x").producer == ProducerIdAndEpoch(producer.producer_id, producer.epoch + 1)
