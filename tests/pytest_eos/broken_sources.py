"""Connectors that break one promise each, in ways that authors do."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.pytest_eos.counter import CounterConnector, CounterTask, connector
from tests.pytest_eos.leaking import OVER

from eosfw.config import Config, ConfigDef, Int, String
from eosfw.connectors import SourceTaskContext
from eosfw.errors import Problem
from eosfw.records import SourceRecord


class SetTask(CounterTask):
    """Goes through what it has in the order of a set, which another process has in another one."""

    def poll(self) -> list[SourceRecord]:
        found = {record.value: record for record in super().poll()}
        return [found[value] for value in set(found)]


class SetOrder(CounterConnector):
    task = SetTask


@connector()
class Forgetful(CounterTask):
    """Starts anew wherever it was."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = dict.fromkeys(self.next, 0)


@connector()
class Skipping(CounterTask):
    """Leaves a record out wherever it resumes."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.next = {stream: number + 1 if number else 0 for stream, number in self.next.items()}


@connector()
class Stuttering(CounterTask):
    """Gives each record of a poll twice."""

    def poll(self) -> list[SourceRecord]:
        return [record for record in super().poll() for _ in range(2)]


class ChangingShares(CounterConnector):
    """Splits its work in another way each time it is asked."""

    asked = 0

    def task_configs(self, config: Config, max_tasks: int) -> Any:
        type(self).asked += 1
        shares = list(super().task_configs(config, max_tasks))
        return shares[self.asked % len(shares) :] + shares[: self.asked % len(shares)]


class Undocumented(CounterConnector):
    """Has properties that nobody explains."""

    config = ConfigDef(Int("until", 24), Int("width", 0), String("topic", doc="where to"))


class OwnTasksMax(CounterConnector):
    """Defines a property that the framework has."""

    config = ConfigDef(*CounterConnector.config.keys.values(), Int("tasks.max", 1, "how many tasks there are"))


class GeneratedShares(CounterConnector):
    """Sound: gives its shares one by one."""

    def task_configs(self, config: Config, max_tasks: int) -> Any:
        yield from super().task_configs(config, max_tasks)


class SetShares(CounterConnector):
    """Its shares hold what was put into a set, which another process has in another order."""

    def task_configs(self, config: Config, max_tasks: int) -> Any:
        columns = ",".join({f"column {number}" for number in range(20)})
        return [{**share, "columns": columns} for share in super().task_configs(config, max_tasks)]


class NoShares(CounterConnector):
    def task_configs(self, config: Config, max_tasks: int) -> Any:
        return None


class NoProblems(CounterConnector):
    def problems(self, config: Config) -> Any:
        return None


class NothingChecked(CounterConnector):
    def check(self, config: Config) -> Any:
        return None


_REST: list[SourceRecord] = []


@connector()
class OfAList(CounterTask):
    """Reads what a list still holds."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        super().start(config, context)
        self.rest = iter(list(_REST))

    def poll(self) -> list[SourceRecord]:
        return list(self.rest)

    def at_end(self) -> bool:
        return True


class TakesOne(OfAList):  # type: ignore[misc, valid-type]
    """Takes a record out of its source to see whether there are any."""

    def task_configs(self, config: Config, max_tasks: int) -> Any:
        if not _REST:
            _REST.extend(CounterTask.record(self.made(), "s", number) for number in range(3))
        return list(super().task_configs(config, 1))

    def made(self) -> CounterTask:
        task = CounterTask()
        task.topic, task.width = "contract", 0
        return task

    def check(self, config: Config) -> Any:
        del _REST[0]
        return ()


@connector()
class InSeconds(CounterTask):
    """Has the timestamps that `time.time` gives."""

    def record(self, stream: str, number: int) -> SourceRecord:
        return replace(super().record(stream, number), timestamp=1_700_000_000 + number)


@connector()
class LocalTimes(CounterTask):
    """States times without their zone, which are those of the machine."""

    def record(self, stream: str, number: int) -> SourceRecord:
        at = datetime.fromtimestamp(1_700_000_000 + number).isoformat()  # noqa: DTZ006 - the bug
        return replace(super().record(stream, number), source_offset={"at": at})


@connector()
class NeverOpened(CounterTask):
    """Fails when it starts, and when it then closes what it never opened."""

    def start(self, config: Config, context: SourceTaskContext) -> None:
        raise KeyError(f"no table {config['topic']}")

    def stop(self) -> None:
        self.connection.close()  # type: ignore[attr-defined]


@connector()
class Generating(CounterTask):
    """A generator, where a list is due."""

    def poll(self) -> Any:
        return (record for record in super().poll())


@connector()
class Careless(CounterTask):
    """Cannot be stopped twice, nor once."""

    def stop(self) -> None:
        raise RuntimeError("the connection was never opened")


@connector()
class Unacknowledged(CounterTask):
    """Cannot tell its source what is committed."""

    def commit(self) -> None:
        raise OSError("the queue does not know this session")


@connector()
class OldCallback(CounterTask):
    """Takes the record alone, as Kafka Connect's callback did once."""

    def commit_record(self, record: SourceRecord) -> None:
        pass


class Distrusting(CounterConnector):
    """Finds fault with a source that can be read."""

    def check(self, config):
        yield Problem("streams", "there is no stream s0")


class Chatty(CounterConnector):
    """Says that all is well where it should say nothing."""

    def check(self, config):
        return ["all is well"]


class Refusing(CounterConnector):
    """Finds its own example wrong."""

    def problems(self, config: Config) -> Any:
        return [Problem("until", "must be a multiple of 7")]


class AsksInVain(CounterConnector):
    """Asks for other tasks at each look, whether anything has changed or not."""

    def start(self, config, context):
        self.context = context

    def watch(self):
        self.context.request_task_reconfiguration()


class WatchesOn(CounterConnector):
    """Leaves the thread behind that looks at its source."""

    def start(self, config, context):
        threading.Thread(target=OVER.wait, name="poll-tables", daemon=True).start()


class LooksAround(CounterConnector):
    """Sound: watches its source, and asks for other tasks only if there is another stream."""

    def start(self, config, context):
        self.context, self.seen, self.streams = context, config["streams"], config["streams"]

    def watch(self):
        if self.streams != self.seen:
            self.context.request_task_reconfiguration()
        return 0.5


class JudgesOffsets(CounterConnector):
    """Sound: takes the offsets of its tasks, and None, again and again."""

    def alter_offsets(self, config, offsets):
        for _, offset in offsets:
            if offset is not None and not isinstance(offset.get("next"), int):
                raise ValueError("an offset has a whole number as `next`")
        return True


class RefusesOwn(CounterConnector):
    """Expects offsets that its tasks had in an earlier version."""

    def alter_offsets(self, config, offsets):
        return all(offset is None or offset["position"] for _, offset in offsets)


class NeverForgets(CounterConnector):
    """Has not thought of offsets that are reset."""

    def alter_offsets(self, config, offsets):
        return all(offset["next"] for _, offset in offsets)


class TakesAnyOffset(CounterConnector):
    """Judges nothing."""

    def alter_offsets(self, config, offsets):
        return True
