"""The contract of a backend's admin client for topics: offsets of times, ids, deletion; and for deleting groups."""

from __future__ import annotations

import re

import pytest

from eosfw.errors import GroupIdNotFoundError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata, NewTopic
from eosfw.records import OffsetRange, ProducerBatch
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness
from pytest_eos.contracts.backends.transactions import needs_transactions

deletes = pytest.mark.eos_needs("delete_topics")


class TopicsContract(BackendUnderTestFixtures):
    """Part of BackendContract."""

    def test_a_time_leads_to_the_first_record_that_is_not_older(self, lab: BackendHarness) -> None:
        """Admin.offsets_for_times: each partition by itself; None where all records are older, or there is none."""
        topic, now = lab.topic(partitions=3), _now(lab)
        _write_at(lab, topic, 0, now - 9000, now - 5000, now - 7000, now - 1000)
        _write_at(lab, topic, 1, now - 3000)
        first, second, empty = (TopicPartition(topic, number) for number in range(3))

        def offsets(time: int) -> list[int | None]:
            found = lab.admin.offsets_for_times(dict.fromkeys([first, second, empty], time), UNCOMMITTED)
            return [found[one] for one in (first, second, empty)]

        assert offsets(0) == [0, 0, None]
        assert offsets(now - 9000) == [0, 0, None]
        assert offsets(now - 6000) == [1, 0, None], "the record behind it is older, yet it comes later"
        assert offsets(now - 2000) == [3, None, None]
        assert offsets(now) == [None, None, None]
        assert lab.admin.offsets_for_times({first: now - 1000, second: 0}, COMMITTED) == {first: 3, second: 0}

    @needs_transactions
    def test_a_record_of_an_open_transaction_has_no_time_yet(self, lab: BackendHarness) -> None:
        """Admin.offsets_for_times at read_committed: until the transaction ends, as for the last stable offset."""
        topic, now = lab.topic(), _now(lab)
        one, producer = TopicPartition(topic, 0), lab.producer()
        _write_at(lab, topic, 0, now - 9000)
        producer.begin_transaction()
        producer.send_batch(ProducerBatch(topic, [b"open"], partition=0, timestamps=[now - 5000]))
        producer.flush(WAIT)
        _write_at(lab, topic, 0, now - 1000)

        assert lab.admin.offsets_for_times({one: now - 9000}, COMMITTED) == {one: 0}
        for later in (now - 6000, now - 2000):
            assert lab.admin.offsets_for_times({one: later}, COMMITTED) == {one: None}
        assert lab.admin.offsets_for_times({one: now - 6000}, UNCOMMITTED) == {one: 1}
        producer.commit_transaction(WAIT)
        lab.values(topic)  # until the marker is written
        assert lab.admin.offsets_for_times({one: now - 6000}, COMMITTED) == {one: 1}

    @needs_transactions
    def test_a_time_may_lead_to_an_aborted_record(self, lab: BackendHarness) -> None:
        """Admin.offsets_for_times: it knows times, not outcomes; a read from there begins with the next committed."""
        topic = lab.topic()
        one = TopicPartition(topic, 0)
        lab.open_transaction(topic, b"lost").abort_transaction(WAIT)
        lab.values(topic)
        lab.write(topic, b"kept")

        found = lab.admin.offsets_for_times({one: 0}, COMMITTED)[one]

        assert found == 0
        assert [row.value for row in lab.read({one: OffsetRange(found, lab.end(topic, COMMITTED))})] == [b"kept"]

    def test_the_time_of_an_unknown_partition_is_refused(self, lab: BackendHarness) -> None:
        """Admin.offsets_for_times: an unknown partition is an error, never None."""
        assert lab.admin.offsets_for_times({}, COMMITTED) == {}
        with pytest.raises(UnknownTopicOrPartitionError):
            lab.admin.offsets_for_times({TopicPartition(lab.name(), 0): 0}, COMMITTED)

    def test_a_topic_has_the_clusters_own_number_of_partitions_where_none_is_given(self, lab: BackendHarness) -> None:
        """Admin.create_topics (KIP-464): -1 partitions and replicas; all of them can be written at once."""
        topic = lab.name()

        lab.admin.create_topics([NewTopic(topic, -1, -1)])

        count = lab.admin.partitions([topic])[topic]
        ends = lab.admin.end_offsets([TopicPartition(topic, number) for number in range(count)], UNCOMMITTED)
        assert count >= 1
        assert set(ends.values()) == {0}

    def test_each_topic_has_an_id_of_its_own(self, lab: BackendHarness) -> None:
        """Admin.topic_ids (KIP-516): the same each time; a topic that does not exist is left out."""
        first, second = lab.topic(), lab.topic()

        ids = lab.admin.topic_ids([first, lab.name(), second])

        assert set(ids) == {first, second}
        assert ids[first] != ids[second]
        assert lab.admin.topic_ids([first, first]) == {first: ids[first]}
        assert [each for each in ids.values() if not re.fullmatch(r"[A-Za-z0-9_-]{22}", each)] == []
        assert lab.admin.topic_ids([]) == {}

    @deletes
    def test_a_topic_created_again_has_another_id(self, lab: BackendHarness) -> None:
        """Admin.topic_ids (KIP-516): by it a reader knows that its offsets are those of another log."""
        topic = lab.topic()
        before = lab.admin.topic_ids([topic])
        lab.admin.delete_topics([topic])
        lab.until(lambda: lab.admin.partitions([topic]), lambda left: not left)
        assert lab.until(lambda: lab.admin.topic_ids([topic]), lambda left: not left) == {}

        lab.admin.create_topics([NewTopic(topic)])

        after = lab.admin.topic_ids([topic])
        assert set(after) == {topic}
        assert after != before, "a topic that was created again has its old id: its records cannot be told apart"

    @deletes
    def test_partitions_that_came_later_have_offsets_at_once(self, lab: BackendHarness) -> None:
        """Admin.end_offsets: whatever the client knew of the topic before, as when others create it again."""
        topic, other = lab.topic(), lab.backend.admin()
        assert lab.end(topic, UNCOMMITTED) == 0
        other.delete_topics([topic])
        lab.until(lambda: other.partitions([topic]), lambda left: not left)
        other.create_topics([NewTopic(topic, partitions=3)])
        every = [TopicPartition(topic, number) for number in range(3)]

        ends = lab.admin.end_offsets(every, UNCOMMITTED)

        other.close()
        assert ends == dict.fromkeys(every, 0)


class DeletionContract(BackendUnderTestFixtures):
    """Part of BackendContract: for backends that declare `delete_topics`."""

    @deletes
    def test_topics_are_deleted_with_an_answer_for_each(self, lab: BackendHarness) -> None:
        """Admin: a topic that does not exist fails alone; topics that are not named stay."""
        first, second, other, nowhere = lab.topic(), lab.topic(partitions=2), lab.topic(), lab.name()
        lab.write(second, b"gone")

        outcomes = lab.admin.delete_topics([first, nowhere, second])

        assert {name: type(why) for name, why in outcomes.items()} == {
            first: type(None),
            nowhere: UnknownTopicOrPartitionError,
            second: type(None),
        }
        lab.until(lambda: lab.admin.partitions([first, second, other]), lambda left: list(left) == [other])

    @pytest.mark.eos_needs("delete_topics", "transactions")
    def test_groups_are_deleted_with_their_offsets(self, lab: BackendHarness) -> None:
        """Admin: an answer for each group; GroupIdNotFoundError for an unknown one."""
        one, group, nobody = TopicPartition(lab.topic(), 0), lab.group(), lab.name()
        producer = lab.producer()
        producer.begin_transaction()
        producer.send_offsets({one: 5}, ConsumerGroupMetadata(group), WAIT)
        producer.commit_transaction(WAIT)
        assert lab.admin.group_offsets(group, [one]) == {one: 5}

        outcomes = lab.admin.delete_groups([nobody, group])

        assert {name: type(why) for name, why in outcomes.items()} == {
            nobody: GroupIdNotFoundError,
            group: type(None),
        }
        assert lab.admin.group_offsets(group, [one]) == {}, "a group was deleted, its offsets are still told"

    @deletes
    def test_an_empty_list_to_delete_is_accepted(self, lab: BackendHarness) -> None:
        """Admin: an empty list is allowed, because a cleanup may have nothing to delete."""
        assert lab.admin.delete_topics([]) == {}
        assert lab.admin.delete_groups([]) == {}


def _now(lab: BackendHarness) -> int:
    return int(lab.runtime.wall() * 1000)


def _write_at(lab: BackendHarness, topic: str, partition: int, *times: int) -> None:
    producer = lab.backend.producer(None)
    producer.send_batch(ProducerBatch(topic, [b"v"] * len(times), partition=partition, timestamps=times))
    producer.flush(WAIT)
    producer.close()
