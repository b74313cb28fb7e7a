"""Offsets of a stopped connector are read, altered and reset under fencing, all or none (KIP-875)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.runtime.counting import CountingConnector

from eosfw.errors import BadRequestError, EosfwError, ProducerFencedError, UnsupportedError
from eosfw.ids import ConnectorTaskId, task_transactional_id
from eosfw.protocols.herder import ConnectorOffset
from eosfw.records import ProducerRecord
from eosfw.runtime.connectors.offsets import OffsetServices
from eosfw.runtime.distributed.connector_offsets import (
    OffsetGuard,
    alter_offsets,
    connector_offsets,
    reset_offsets,
)
from eosfw.runtime.storage.global_offset_backing_store import GlobalOffsetBackingStore
from eosfw.state.steps import TaskStep

from .group import RUNTIME, Group, GroupPlugins, exactly

pytestmark = pytest.mark.ci
KEY = b'["c",{"stream":"s0"}]'
FRAMEWORK = "The Connect framework-managed offsets for this connector have been {} successfully. However, if this "


class Hearing(CountingConnector):
    """Hears of changed offsets; `answer` is what it returns or raises."""

    def __init__(self, answer: bool | Exception = True) -> None:  # noqa: FBT001, FBT002 what it answers
        self.answer, self.heard = answer, []

    def alter_offsets(self, config, offsets) -> bool:
        self.heard.append((config["topic"], offsets))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Stopped:
    """A group whose counting connector is stopped: it has no tasks."""

    def __init__(self, group: Group, connector: CountingConnector, **properties: str) -> None:
        self.group, self.properties, self.checks = group, properties, 0
        worker = GlobalOffsetBackingStore(group.worker._config, group.backend, RUNTIME)
        self.services = OffsetServices(
            config=group.worker._config,
            backend=group.backend,
            plugins=GroupPlugins(connector),  # type: ignore[arg-type]
            worker_offsets=worker,
            runtime=RUNTIME,
        )
        self.given = {"connector.class": "counting", "topic": group.topic}
        self.given |= {name.replace("_", "."): text for name, text in properties.items()}
        self.generation = group.put(streams="0", **properties)

    def check(self) -> None:
        self.checks += 1

    def fence(self) -> None:
        self.group.worker._leader.fence_zombies("c", self.generation)

    @property
    def guard(self) -> OffsetGuard:
        return OffsetGuard(self.check, self.fence)

    def alter(self, *offsets: tuple[dict[str, Any], dict[str, Any] | None], guard: OffsetGuard | None = None) -> str:
        changes = [ConnectorOffset(*one) for one in offsets]
        return alter_offsets(self.services, "c", self.given, changes, guard or self.guard)

    def reset(self) -> str:
        return reset_offsets(self.services, "c", self.given, self.guard)

    def seen(self) -> dict[str, int]:
        found = connector_offsets(self.services, "c", self.given)
        return {one.partition["stream"]: one.offset["next"] for one in found}


@contextmanager
def stopped(
    cluster, connector: CountingConnector | None = None, *, own: bool = False, **worker: str
) -> Iterator[Stopped]:
    """A connector with two streams that has run to 5 and was stopped."""
    connector = connector or CountingConnector()
    with Group(cluster, connector=connector, offset_flush_interval_ms="50", **worker) as group:
        more = {"offsets_storage_topic": f"{group.name}-own"} if own else {}
        group.put(streams="2", until="5", batch="5", tasks_max="2", **more)
        group.until_drained()
        made = Stopped(group, connector, **more)
        yield made
        made.services.worker_offsets.close(10.0)


def resume(made: Stopped, until: int) -> list[bytes]:
    made.group.put(streams="2", until=str(until), batch="5", tasks_max="2", **made.properties)
    made.group.until_drained()
    return made.group.committed()


def until_copied(group: Group, until: int) -> None:
    wanted = b'{"next":%d}' % until
    group.until(lambda: group.latest(f"{group.name}-offsets").get(KEY) == wanted, "the copy in the worker's topic")


OWN = pytest.mark.parametrize("own", [False, True], ids=["shared", "own"])


@OWN
def test_altered_offsets_are_where_the_tasks_go_on(cluster, own):
    """OFF-13, OFF-14: a new partition, too; what is not named stays."""
    with stopped(cluster, own=own) as made:
        assert made.seen() == {"s0": 5, "s1": 5}
        said = made.alter(({"stream": "s0"}, {"next": 8}), ({"stream": "s9"}, {"next": 1}))

        assert said.startswith(FRAMEWORK.format("altered"))
        assert made.seen() == {"s0": 8, "s1": 5, "s9": 1}
        assert resume(made, 10) == sorted([*exactly(2, 5), b"s0:8", b"s0:9", *(b"s1:%d" % n for n in range(5, 10))])


@OWN
def test_reset_offsets_make_the_tasks_begin_again(cluster, own):
    """OFF-14, OFF-10: in both topics; again, there is nothing left to do."""
    with stopped(cluster, own=own) as made:
        assert made.reset().startswith(FRAMEWORK.format("reset"))
        assert made.seen() == {}
        assert made.reset().startswith(FRAMEWORK.format("reset"))
        topic = f"{made.group.name}-offsets"
        made.group.until(lambda: not any(made.group.latest(topic).values()), "the deletion of the copies")

        assert resume(made, 5) == sorted(exactly(2, 5) * 2)


def test_a_connector_without_exactly_once_is_changed_as_well(cluster):
    """OFF-14: nobody is fenced then."""
    with stopped(cluster, exactly_once_source_support="disabled") as made:
        made.group.until(lambda: made.seen() == {"s0": 5, "s1": 5}, "the offsets of the stopped tasks")
        made.alter(({"stream": "s0"}, {"next": 9}))

        assert made.seen() == {"s0": 9, "s1": 5}
        assert not [event for event in made.group.events if event.step is TaskStep.FENCE_ZOMBIES]


def test_a_zombie_task_cannot_commit_over_changed_offsets(cluster):
    """OFF-14: all ids of the generation before are fenced first."""
    with stopped(cluster) as made:
        own = task_transactional_id(made.group.name, ConnectorTaskId("c", 1))
        zombie = made.group.backend.producer(own)
        zombie.init_transactions(30.0)
        zombie.begin_transaction()
        zombie.send(ProducerRecord(f"{made.group.name}-offsets", b'{"next":1}', b'["c",{"stream":"s1"}]'))
        made.alter(({"stream": "s1"}, {"next": 8}))

        with pytest.raises(ProducerFencedError):
            zombie.commit_transaction(30.0)
        assert made.seen() == {"s0": 5, "s1": 8}


@pytest.mark.parametrize("refused", [1, 2, 3], ids=["before", "after-fencing", "after-init"])
def test_a_connector_that_is_started_meanwhile_keeps_its_offsets(cluster, refused):
    """OFF-14: the conditions are looked at before the fencing, after it, and once the producer is there."""
    with stopped(cluster) as made:

        def check() -> None:
            made.checks += 1
            if made.checks == refused:
                raise BadRequestError("Connectors must be in the STOPPED state")

        with pytest.raises(BadRequestError, match="STOPPED"):
            made.alter(({"stream": "s0"}, {"next": 9}), guard=OffsetGuard(check, made.fence))
        assert made.seen() == {"s0": 5, "s1": 5}


def test_a_failed_fencing_changes_nothing(cluster):
    """OFF-14."""
    with stopped(cluster) as made:

        def fence() -> None:
            raise EosfwError("not allowed to fence g-c-0")

        with pytest.raises(EosfwError, match=r"Failed to perform zombie fencing .*: not allowed to fence g-c-0"):
            made.alter(({"stream": "s0"}, {"next": 9}), guard=OffsetGuard(made.check, fence))
        assert made.seen() == {"s0": 5, "s1": 5}


S0 = {"stream": "s0"}


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([], "Partitions / offsets need to be provided for an alter offsets request"),
        ([(S0, {"next": 1}), (S0, None)], "source partition {'stream': 's0'} is given twice"),
        ([({"b": 1, "a": 2}, {"next": 1}), ({"a": 2, "b": 1}, {"next": 2})], "is given twice"),
        ([(S0, {"next": {"a": 1}})], "Offsets may only contain primitive types as values, but field next contains MAP"),
        ([(S0, {"next": [1]})], "Offsets may only contain primitive types as values, but field next contains ARRAY"),
        ([(S0, {1: 1})], "Offsets may only use String keys"),
        ([(S0, [1])], "Offsets must be specified as a Map"),
        ([(None, {"next": 1})], "Offsets must be specified as a Map"),
        ([(S0, {"next": 2**63})], "which no 64-bit number can hold"),
    ],
)
def test_offsets_that_cannot_be_stored_change_nothing(cluster, offsets, message):
    """OFF-14: all or none, however many are right."""
    with stopped(cluster) as made:
        with pytest.raises(BadRequestError) as refused:
            made.alter(*([({"stream": "s1"}, {"next": 9}), *offsets] if offsets else []))

        assert message in str(refused.value)
        assert made.seen() == {"s0": 5, "s1": 5}


def test_a_connector_hears_of_changed_offsets_as_tasks_read_them(cluster):
    """OFF-14: normalised; nothing is left to do by hand then. A null forgets, and a reset is told with nothing left."""
    with stopped(cluster, connector := Hearing()) as made:
        said = made.alter((S0, {"next": 9}), ({"stream": "s1"}, None))

        assert said == "The offsets for this connector have been altered successfully"
        assert made.seen() == {"s0": 9}
        made.reset()
        assert made.reset() == "The offsets for this connector have been reset successfully"
        changes = [[(S0, {"next": 9}), ({"stream": "s1"}, None)], [(S0, None)], []]
        assert connector.heard == [(made.group.topic, change) for change in changes]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (UnsupportedError("no"), "Failed to modify offsets for connector c because it doesn't support external modif"),
        (ValueError("not before 3"), "Failed to modify offsets for source connector c: not before 3"),
    ],
)
def test_a_connector_may_refuse_changed_offsets(cluster, answer, message):
    """OFF-14: then nothing is written."""
    with stopped(cluster, Hearing(answer)) as made:
        with pytest.raises(EosfwError) as refused:
            made.alter((S0, {"next": 1}))

        assert message in str(refused.value)
        assert type(refused.value) is EosfwError, "Kafka Connect answers 500 to either"
        assert made.seen() == {"s0": 5, "s1": 5}


class CrashesAt:
    """A backend whose transactional producers fail at one call."""

    def __init__(self, backend: Any, call: str) -> None:
        self._backend, self._call = backend, call
        self.fired = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def producer(self, transactional_id: str | None, **more: Any) -> Any:
        made = self._backend.producer(transactional_id, **more)
        if transactional_id is not None:
            setattr(made, self._call, self._crash)
        return made

    def _crash(self, *_: Any) -> None:
        self.fired += 1
        raise EosfwError("the worker crashed")


@OWN
@pytest.mark.parametrize("call", ["init_transactions", "begin_transaction", "send", "commit_transaction"])
def test_a_crash_before_the_commit_leaves_all_offsets_as_they_were(cluster, call, own):
    """F41, OFF-14: also those that the worker's topic has forgotten already."""
    with stopped(cluster, own=own) as made:
        good, bad = made.services, CrashesAt(made.group.backend, call)
        made.services = replace(good, backend=bad)
        with pytest.raises(EosfwError, match="the worker crashed"):
            made.reset()
        made.services = good

        assert bad.fired == 1
        made.alter(({"stream": "s9"}, {"next": 1}))  # ends what the crash left open
        assert made.seen() == {"s0": 5, "s1": 5, "s9": 1}


def test_a_crash_behind_the_commit_lets_no_old_offset_come_back(cluster):
    """F41, OFF-10: the worker's topic has the old ones until the tasks start; the new ones count all the time."""
    with stopped(cluster, own=True) as made:
        shared = f"{made.group.name}-offsets"
        until_copied(made.group, 5)
        made.services.worker_offsets.close(10.0)  # from here on it takes no copy
        made.alter((S0, {"next": 2}), ({"stream": "s8"}, {"next": 1}))

        assert made.group.latest(shared)[KEY] == b'{"next":5}'
        assert made.seen() == {"s0": 2, "s1": 5, "s8": 1}


def test_a_topic_switched_behind_the_scenes_keeps_every_offset(cluster):
    """F41: to a topic of its own, to another one, and back to the worker's, clean stops between."""
    with stopped(cluster) as made:
        name = made.group.name
        for until, topic in ((7, f"{name}-one"), (9, f"{name}-two"), (11, None)):
            made.properties = {"offsets_storage_topic": topic} if topic else {}
            resume(made, until)
            until_copied(made.group, until)

        assert made.group.committed() == exactly(2, 11)
