"""The contract of a backend's admin client for deleting topics and consumer groups."""

from __future__ import annotations

import pytest

from eosfw.errors import GroupIdNotFoundError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import ConsumerGroupMetadata
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness

deletes = pytest.mark.eos_needs("delete_topics")


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
