"""Metadata of topics that a client names by id, as Java's consumers of the group protocol of KIP-848 do."""

from __future__ import annotations

from uuid import uuid4

import pytest

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

METADATA = 3


@pytest.fixture
def described(raw):
    """Asks for topics, each by its name and its id."""

    def ask(*wanted):
        topics = [Fields(name=name, topic_id=topic_id) for name, topic_id in wanted]
        options = {"allow_auto_topic_creation": False, "include_topic_authorized_operations": False}
        answer = raw.ask(METADATA, 12, topics=topics, **options)
        return [(each["error_code"], each["name"], each["topic_id"]) for each in answer["topics"]]

    return ask


@pytest.mark.parametrize("name", [None, "", "any"])
def test_a_topic_is_found_by_its_id_whatever_name_stands_beside(new_topic, described, name):
    """CMP-01, GRP-04: Java's clients send an empty name, and read the topics of a regular expression by id."""
    topic, other = new_topic(), new_topic()
    [(_, _, topic_id)] = described((topic, None))

    assert described((name, topic_id)) == [(Code.NONE, topic, topic_id)]
    assert described((name, topic_id), (other, None)) == [(Code.NONE, topic, topic_id)]


def test_an_id_that_no_topic_has_is_an_unknown_one(described):
    """CMP-01."""
    unknown = uuid4()

    assert described(("", unknown)) == [(Code.UNKNOWN_TOPIC_ID, None, unknown)]
