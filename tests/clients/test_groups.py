"""`kafka-consumer-groups` shows groups with their lag, and moves their offsets."""

from __future__ import annotations

import re

import pytest

LINES = [f"line {number}" for number in range(20)]


@pytest.fixture
def group(tool, topic, fresh):
    """A group without members that has read half of a topic, and the topic."""
    name, group = topic(), fresh("group")
    tool("kafka-console-producer", "--topic", name, stdin="\n".join(LINES) + "\n")
    tool("kafka-console-consumer", "--topic", name, "--group", group, "--from-beginning", "--max-messages", 10)
    return group, name


def offsets(output, topic) -> list[str]:
    """Current offset, end, lag of a topic's partition in a description."""
    (row,) = (line.split() for line in output.lines if f" {topic} " in f" {re.sub(' +', ' ', line)} ")
    at = row.index(topic)
    return row[at + 2 : at + 5]


def test_groups_are_listed_described_with_their_lag(tool, group):
    """Offsets and lag to the end; the state is that of a group without members."""
    name, topic = group

    listed = tool("kafka-consumer-groups", "--list")
    described = tool("kafka-consumer-groups", "--describe", "--group", name)
    state = tool("kafka-consumer-groups", "--describe", "--group", name, "--state")

    assert name in listed.lines
    assert offsets(described, topic) == ["10", "20", "10"]
    assert re.search(rf"{name}\s.*\sEmpty\s+0\b", state.out)


def test_a_group_resumes_at_offsets_that_were_reset(tool, group):
    """Back to a record, then read from there."""
    name, topic = group

    reset = ("--reset-offsets", "--group", name, "--topic", topic, "--to-offset", 3, "--execute")
    tool("kafka-consumer-groups", *reset)
    read = tool("kafka-console-consumer", "--topic", topic, "--group", name, "--max-messages", 17)

    assert read.lines == LINES[3:]


def test_a_groups_offsets_are_deleted_then_the_group(tool, group):
    """Deleted offsets and groups are no longer listed."""
    name, topic = group

    tool("kafka-consumer-groups", "--delete-offsets", "--group", name, "--topic", topic)
    described = tool("kafka-consumer-groups", "--describe", "--group", name)
    tool("kafka-consumer-groups", "--delete", "--group", name)
    listed = tool("kafka-consumer-groups", "--list")

    assert topic not in described.out
    assert name not in listed.lines


def test_members_of_a_running_group_are_shown_with_their_partitions(tool, java, topic, fresh, embedded):
    """A live group: who has which partition."""
    name, group = topic(2), fresh("group")
    where = ("--bootstrap-server", embedded, "--topic", name, "--group", group, "--from-beginning")
    tool("kafka-console-producer", "--topic", name, stdin="here\n")

    with java.start("kafka-console-consumer", *where) as running:
        while "here" not in running.output():
            assert running.running(), running.output()
        members = tool("kafka-consumer-groups", "--describe", "--group", group, "--members", "--verbose")
        running.end()
    left = tool("kafka-consumer-groups", "--describe", "--group", group, "--state")

    assert re.search(
        rf"^{group}\s+console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer\s+2\s+", members.out, re.MULTILINE
    )
    assert re.search(rf"{group}\s.*\sEmpty\s+0\b", left.out)
