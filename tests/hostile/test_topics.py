"""Hostile records and settings of the topics that a group keeps itself in."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.config.worker import WORKER
from eosfw.errors import DamagedDataError
from eosfw.records import LogBatch
from eosfw.runtime.storage.internal_topics import internal_topic_problems
from eosfw.state.fencing.plan import ids_to_fence
from eosfw.state.storage.config_log import ConfigLog
from eosfw.state.storage.config_records import connector_record, task_count_record, task_records

DEEP = b"[" * 100_000
LARGE = b'"' + b"x" * 10_000_000 + b'"'
MINE = b'["c",{"p":"a"}]'
POSITION = b'{"o":7}'


def decoded(*records: tuple[bytes | None, bytes | None]) -> dict[str, Any]:
    keys, values = [key for key, _ in records], [value for _, value in records]
    offsets = list(range(len(records)))
    batch = LogBatch("g-offsets", 3, offsets, keys, values, [0] * len(records))
    return {name: offset for name, (_, offset) in KafkaOffsetStore().decode("c", [batch]).items()}


@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"c",
        b'["c"',
        b'["c",{"p":',
        b"\xff\xfe",
        b'{"c":{}}',
        b'["c",{"p":{"deep":1}}]',
        b'["c",["p"]]',
        b'["c",{"p":"a"},1]',
        b'[7,{"p":"a"}]',
        b"null",
        DEEP,
        LARGE,
        b'["other",{"p":"a"}]',
        b'["c"]',
        b"evil\nline",
    ],
    ids=lambda key: repr(key)[:30],
)
def test_a_foreign_or_malformed_offset_key_harms_nobody(key: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    """It is skipped with a warning of one short line."""
    caplog.set_level(logging.DEBUG)

    assert decoded((MINE, POSITION), (key, b'{"o":99}')) == {'{"p":"a"}': {"o": 7}}
    assert all(len(record.getMessage()) < 500 and "\n" not in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    "value",
    [b"", b"7", b"[]", b'"text"', b'{"o":', b"\xff", b'{"o":{"deep":1}}', b'{"schema":{},"payload":{}}', DEEP, LARGE],
    ids=lambda value: repr(value)[:30],
)
def test_a_malformed_offset_of_its_own_stops_the_connector(value: bytes) -> None:
    """Not from zero, which would repeat everything; the place is named."""
    with pytest.raises(DamagedDataError) as refused:
        decoded((MINE, POSITION), (MINE, value))

    message = str(refused.value)
    assert "g-offsets-3 at offset 1" in message or ("g-offsets" in message and "1" in message)
    assert "Starting from zero would repeat everything" in message
    assert len(message) < 700
    assert "\n" not in message


@pytest.mark.parametrize("null", [None, b"null"])
def test_a_tombstone_forgets_what_it_names_and_nothing_else(null: bytes | None) -> None:
    assert decoded((MINE, POSITION), (b'["c",{"p":"never seen"}]', null)) == {'{"p":"a"}': {"o": 7}}
    assert decoded((MINE, POSITION), (MINE, null)) == {}


class Described:
    """An administrator that sees topics with these settings."""

    def __init__(self, partitions: dict[str, int], policies: dict[str, str]) -> None:
        self._partitions, self._policies = partitions, policies

    def partitions(self, topics: Any = None) -> dict[str, int]:
        return {name: count for name, count in self._partitions.items() if topics is None or name in topics}

    def topic_config(self, topic: str) -> dict[str, str]:
        return {"cleanup.policy": self._policies.get(topic, "compact")}


@pytest.mark.parametrize(
    ("partitions", "policies", "message"),
    [
        ({"g-configs": 2}, {}, "topic 'g-configs' has 2 partitions; a config topic must have exactly one"),
        ({"g-configs": 1}, {"g-configs": "delete"}, "topic 'g-configs' has cleanup.policy=delete"),
        ({"g-configs": 1}, {"g-configs": "compact,delete"}, "it must be compact alone"),
        ({"g-offsets": 25}, {"g-offsets": "delete"}, "topic 'g-offsets' has cleanup.policy=delete"),
        ({"g-status": 5}, {"g-status": "delete"}, "topic 'g-status' has cleanup.policy=delete"),
    ],
)
def test_a_topic_that_would_lose_records_is_refused_by_name(
    partitions: dict[str, int], policies: dict[str, str], message: str
) -> None:
    found = internal_topic_problems(Described(partitions, policies), WORKER.parse({"group.id": "g"}))  # type: ignore[arg-type]

    assert [message in str(problem) for problem in found] == [True]


def generation(log: ConfigLog) -> ConfigLog:
    for record in (connector_record("c", {"a": "1"}), *task_records("c", [{}, {}]), task_count_record("c", 2)):
        assert log.apply(log.position, *record) is None
    return log


@pytest.mark.parametrize(
    "value",
    [
        b'{"task-count":-1}',
        b'{"task-count":"3"}',
        b'{"task-count":null}',
        b'{"task-count":1000000000}',
        b"{}",
        b"[]",
        b'{"task-count":true}',
        b'{"task-count":1.5}',
        b'{"task-count":',
        DEEP,
        b'{"task-count":' + b"9" * 100000 + b"}",
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_malformed_task_count_is_skipped_with_an_error(value: bytes) -> None:
    """The count before it stays, so no zombie is forgotten, and memory holds."""
    log = generation(ConfigLog())
    before = log.entry("c")

    problem = log.apply(log.position, b"tasks-fencing-c", value)

    assert problem
    assert len(problem) < 400
    assert log.entry("c") == before
    assert len(ids_to_fence("g", "c", log.entry("c"))) == 2


@pytest.mark.parametrize("count", [b"5", b"1000000000"])
def test_a_commit_of_more_tasks_than_there_are_is_inconsistent(count: bytes) -> None:
    """The connector waits for new task configurations."""
    log = generation(ConfigLog())
    for number in range(3):
        log.apply(log.position, b"task-c-%d" % number, b'{"properties":{}}')

    log.apply(log.position, b"commit-c", b'{"tasks":' + count + b"}")

    assert log.entry("c").tasks == () or count == b"1000000000"
    assert log.entry("c").generation == 0, "no new generation"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"session-key", b'{"key":"canary","algorithm":"HmacSHA256","creation-timestamp":null}'),
        (b"session-key", b'{"key":7}'),
        (b"session-key", b"canary"),
        (b"session-key", DEEP),
        (b"connector-c", b'{"properties":7}'),
        (b"connector-c", DEEP),
        (b"task-c", b'{"properties":{}}'),
        (b"task-c-x", b'{"properties":{}}'),
        (b"commit-c", b'{"tasks":"3"}'),
        (b"target-state-c", b'{"state":7}'),
        (b"\xff", b"{}"),
        (b"", b"{}"),
        (None, None),
        (b"x" * 1_000_000, b"{}"),
        (b"evil\nline", b"{}"),
    ],
    ids=lambda part: repr(part)[:40],
)
def test_a_malformed_config_record_changes_nothing(key: bytes | None, value: bytes | None) -> None:
    """Every reader skips it with the same one line."""
    log = generation(ConfigLog())
    before, keys = log.entry("c"), log.session_keys

    problem = log.apply(log.position, key, value)

    assert problem
    assert "canary" not in problem
    assert "\n" not in problem
    assert len(problem) < 400
    assert (log.entry("c"), log.session_keys) == (before, keys)
