"""A group with more tasks than a record of its members topic holds goes on, and can be made smaller."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.herder.worker_groups import PLUGINS, workers

from eosfw.protocols import NewTopic

SMALL = {"cleanup.policy": "compact", "max.message.bytes": "700"}


def test_a_group_whose_assignment_is_too_large_keeps_its_leader(caplog: pytest.LogCaptureFixture) -> None:
    """Only a leader can delete connectors, or else the group could be mended by nobody."""
    with workers() as group:
        with closing(PLUGINS.backend("memory").connect(group.cluster.client, group.runtime)) as backend:
            backend.admin().create_topics([NewTopic(f"{group.name}-members", 1, 1, SMALL)])
        group.start("a")
        names = [f"connector-with-a-long-name-{number:03}" for number in range(20)]
        for name in names:
            group.put(2, name)
        group.runtime.sleep(30)
        running = sum(group.shares().values())

        for name in names[5:]:
            group.leader().delete_connector(name)

        group.until_shared(10)
    assert 10 < running < 40
    (told,) = {record.message.partition(":")[0] for record in caplog.records if "keeps its" in record.message}
    assert told == f"group {group.name} keeps its assignment, and starts no other tasks"
