"""Topics of one request are created, though the broker refuses some of them for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.protocols import NewTopic
from eosfw_memory.client.admin.admin import MemoryAdmin
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.protocol.handlers.topics import create_topics

RUNTIME = ThreadRuntime()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The topics that a broker was asked to create, in their order; the first time `late` is refused in passing."""
    names: list[str] = []
    check, passing = create_topics._checked, [KafkaError(Code.NOT_CONTROLLER)]

    def checked(broker: Any, wanted: Any, *more: Any) -> Any:
        names.append(wanted.name)
        return passing.pop() if wanted.name == "late" and passing else check(broker, wanted, *more)

    monkeypatch.setattr(create_topics, "_checked", checked)
    return names


@pytest.fixture(params=["direct", "socket"])
def admin(request: pytest.FixtureRequest) -> Iterator[MemoryAdmin]:
    cluster = EmbeddedCluster.start({}, RUNTIME)
    given = {"bootstrap.servers": cluster.bootstrap_servers, "eosfw.transport": request.param}
    backend = MemoryBackend.connect(given, RUNTIME)
    yield backend.admin()
    backend.close()
    cluster.close()


def test_a_topic_that_was_refused_in_passing_is_asked_for_again_and_no_other(
    admin: MemoryAdmin, asked: list[str]
) -> None:
    """One that is there already would be refused as such, though nobody else has created it."""
    admin.create_topics([NewTopic("first", 1), NewTopic("late", 2), NewTopic("last", 1)])

    assert asked == ["first", "late", "last", "late"]
    assert admin.partitions(["first", "late", "last"]) == {"first": 1, "late": 2, "last": 1}


def test_a_refusal_that_lasts_is_raised_beside_one_that_passes(admin: MemoryAdmin, asked: list[str]) -> None:
    with pytest.raises(ConfigError, match="wrong"):
        admin.create_topics([NewTopic("late", 1), NewTopic("wrong", 1, config={"cleanup.policy": "burn"})])

    assert asked == ["late", "wrong"]
