"""Internal topics that are not compacted are refused at the start, as in Kafka Connect."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from eosfw.errors import ConfigError, ExitCode
from eosfw.protocols import NewTopic

from .group import Group


@pytest.fixture
def group(cluster) -> Iterator[Group]:
    """A group whose worker is not started."""
    made = Group(cluster)
    yield made
    made.worker.stop()
    made.backend.close()


def create(group: Group, *topics: NewTopic) -> None:
    with closing(group.backend.admin()) as admin:
        admin.create_topics(topics)


@pytest.mark.parametrize(
    ("kind", "key", "policy"),
    [
        ("configs", "config.storage.topic", "delete"),
        ("offsets", "offset.storage.topic", "compact,delete"),
        ("status", "status.storage.topic", "delete"),
    ],
)
def test_a_topic_that_is_not_compacted_alone_is_refused_by_name(group, kind, key, policy):
    """LOG-01, and the same of the offsets topic: after its retention a finished source would be sent again."""
    create(group, NewTopic(f"{group.name}-{kind}", 1, 1, {"cleanup.policy": policy}))

    with pytest.raises(ConfigError) as reported:
        group.worker.start()

    assert f"{key}: topic '{group.name}-{kind}' has cleanup.policy={policy}" in str(reported.value)
    assert reported.value.exit_code is ExitCode.CONFIGURATION
    assert group.events == []  # nobody was fenced for it


def test_all_topic_problems_are_reported_at_once(group):
    """LOG-01: one partition is what makes an order."""
    create(group, NewTopic(f"{group.name}-configs", 2, 1), NewTopic(f"{group.name}-offsets", 2, 1))

    with pytest.raises(ConfigError) as reported:
        group.worker.start()

    assert [problem.where for problem in reported.value.problems].count("config.storage.topic") == 2
    assert "-configs' has 2 partitions; a config topic must have exactly one" in str(reported.value)
    assert "-offsets' has cleanup.policy=delete" in str(reported.value)
