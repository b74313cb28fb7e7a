"""Misbehaving connectors, a step engine and a command, installed for single tests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eosfw import (
    Config,
    ConfigDef,
    ExactlyOnceSupport,
    Int,
    Password,
    SourceConnector,
    SourceRecord,
    SourceTask,
    String,
    hookimpl,
)
from eosfw.builtin.fencer import AdminFencer
from eosfw.errors import Problem, RetriableError, StepFailedError
from eosfw.protocols import QueryProgress, Verdict


def let_an_hour_pass() -> None:
    """Put the clock of the main thread forward, on which `--timeout` is waited for, and no other thread's.

    So a run whose timeout is shorter ends now, and no sooner, however long it took to come here.
    """
    now, main = time.monotonic, threading.main_thread()
    time.monotonic = lambda: now() + 3600 * (threading.current_thread() is main)


class _Task(SourceTask):
    def start(self, config: Any, context: Any) -> None:
        self.release = Path(config["release"])
        self.topic, self.left = config["topic"], int(config["records"])
        self.partition = {"source": str(config["task"])}
        self.next = (context.offset(self.partition) or {"next": 0})["next"]

    def record(self) -> SourceRecord:
        self.next += 1
        return SourceRecord(
            self.topic, b'{"n":%d}' % self.next, source_partition=self.partition, source_offset={"next": self.next}
        )


class CountingTask(_Task):
    """So many records, one a poll; noisy."""

    def poll(self) -> Any:
        print("a connector that prints", flush=True)  # noqa: T201 (it is the point)
        return None if self.next >= self.left else [self.record()]

    def at_end(self) -> bool:
        return self.next >= self.left


class SlowTask(CountingTask):
    """Returns records slowly; once a file exists, returns the rest in a few polls."""

    def poll(self) -> Any:
        if self.release.exists():
            return [self.record() for _ in range(min(1000, self.left - self.next))] or None
        time.sleep(0.05)
        print("a record was polled", flush=True)  # noqa: T201 (so that a test knows)
        return super().poll()


class HeldTask(CountingTask):
    """Returns no more records, but is not at its end until a file exists."""

    def at_end(self) -> bool:
        return super().at_end() and self.release.exists()


class EndlessTask(_Task):
    def poll(self) -> Any:
        time.sleep(0.01)
        return [self.record()]


class RaisingTask(_Task):
    def poll(self) -> Any:
        if self.next >= self.left:
            raise RuntimeError("the source fell over")
        return [self.record()]


class LeakyTask(_Task):
    """Shows its password wherever it can."""

    def start(self, config: Any, context: Any) -> None:
        super().start(config, context)
        self.password = config["password"]

    def poll(self) -> Any:
        logging.getLogger("leaky").warning("poll with %s", self.password)
        raise RuntimeError(f"the source refuses {self.password}")


class StrangeTask(_Task):
    def poll(self) -> Any:
        return [42]


class UnserialisableTask(_Task):
    def poll(self) -> Any:
        return [SourceRecord(self.topic, b"x", source_partition=self.partition, source_offset={"next": object()})]


class DeadTask(_Task):
    """Gives its records, then meets a server that is gone; says that it is at its end. The third failure takes long."""

    failures = 0

    def poll(self) -> Any:
        if self.next >= self.left:
            self.failures += 1
            if self.failures == 3:
                let_an_hour_pass()
            raise RetriableError("no answer from db:5432", retry_after=0.01)
        return [self.record()]

    def at_end(self) -> bool:
        return True


class FlakyTask(CountingTask):
    """Succeeds with every third poll."""

    polls = 0

    def poll(self) -> Any:
        self.polls += 1
        if self.polls % 3:
            raise RetriableError("busy", retry_after=0.01)
        return super().poll()


class NoticingTask(CountingTask):
    """Gives a notice with each record."""

    def start(self, config: Any, context: Any) -> None:
        super().start(config, context)
        self.context = context

    def poll(self) -> Any:
        if self.next < self.left:
            self.context.notice("odd rows", f"row {self.next} is odd")
        return super().poll()


class BlockedTask(_Task):
    def poll(self) -> Any:
        print("the source does not answer", flush=True)  # noqa: T201 (so that a test knows)
        time.sleep(3600)


class PatientTask(_Task):
    """Waits for its source for an hour of the main thread's, and still does."""

    def poll(self) -> Any:
        let_an_hour_pass()
        time.sleep(3600)


class _Connector(SourceConnector):
    config = ConfigDef(
        String("topic"),
        Int("records", default=10, at_least=0),
        String("release", default="-"),
        Password("password", default=""),
    )

    def task_configs(self, config: Any, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [
            {
                "topic": config["topic"],
                "records": str(config["records"]),
                "task": str(task),
                "release": config["release"],
                "password": config["password"],
            }
            for task in range(max_tasks)
        ]

    def exactly_once_support(self, config: Any) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


class AskedConnector(_Connector):
    """Reports the state of its source that its property names."""

    name, task = "asked", CountingTask
    config = _Connector.config + ConfigDef(String("source", default="fine"))

    def check(self, config: Any) -> Iterable[Problem]:
        if config["source"] == "down":
            raise RetriableError("db.example:5432 refused the connection")
        return [Problem("table", "there is no table 'orders'")] if config["source"] == "wrong" else []


def _connector(kind: type[SourceTask]) -> type[SourceConnector]:
    name = kind.__name__.removesuffix("Task").lower()
    return type(f"{name.title()}Connector", (_Connector,), {"name": name, "task": kind})


@hookimpl
def eosfw_connectors() -> Iterable[type[SourceConnector]]:
    kinds = (
        CountingTask,
        SlowTask,
        HeldTask,
        EndlessTask,
        RaisingTask,
        LeakyTask,
        StrangeTask,
        UnserialisableTask,
        BlockedTask,
        PatientTask,
        DeadTask,
        FlakyTask,
        NoticingTask,
    )
    return [AskedConnector, *(_connector(kind) for kind in kinds)]


class PlainQuery:
    """Makes a batch at each look; `sql` says how it behaves."""

    def __init__(self, step: Any, *, follow: bool) -> None:
        self.step, self.follow, self.batch = step, follow, -1

    def progress(self) -> QueryProgress:
        held = ("t-0 is held back by transactional id 'stuck'",) if self.step.sql == "held" else ()
        return QueryProgress(self.batch, 3 * (self.batch + 1), 2.0, 7, held)

    def ended(self) -> bool:
        self.batch += 1
        print(f"{self.step.name} goes on", flush=True)  # noqa: T201 (so that a test knows)
        if self.step.sql == "fail" and self.batch == 2:
            raise StepFailedError(f"step {self.step.name} failed: no such column")
        return not self.follow and self.batch == 2

    def drain(self, timeout: float) -> bool:
        print(f"{self.step.name} drains")  # noqa: T201 (so that a test knows)
        return self.step.sql != "slow"

    def stop(self) -> None:
        print(f"{self.step.name} stops")  # noqa: T201 (so that a test knows)


class PlainEngine:
    """Counts rows without reading; `sql` says how it behaves."""

    name = "plain"

    def __init__(self) -> None:
        self.closed = False

    @classmethod
    def problems(cls, steps: Any, folder: str) -> Any:
        return ()

    @classmethod
    def start(cls, backend: str, properties: Any, folder: str, reader: Any) -> PlainEngine:
        print("an engine that prints")  # noqa: T201 (it is the point)
        return cls()

    def run(self, step: Any, ranges: Any) -> int:
        if step.sql == "fail":
            raise StepFailedError(f"step {step.name!r} failed: no such column")
        if step.sql == "wait":
            print("a step that waits", flush=True)  # noqa: T201 (so that a test knows)
        while step.sql == "wait" and not self.closed:
            time.sleep(0.02)
        if self.closed:
            raise StepFailedError("the engine was closed")
        return sum(bounds.end - bounds.start for bounds in ranges.values())

    def start_query(self, step: Any, checkpoint: str | None, *, follow: bool) -> PlainQuery:
        return PlainQuery(step, follow=follow)

    def verdict(self, ranges: Any, identity: str, expected: Any) -> Verdict:
        return Verdict(0, 0)

    def close(self) -> None:
        self.closed = True


class SitedFencer(AdminFencer):
    """A part with a property of its own."""

    name = "sited"
    config = ConfigDef(String("site", "Oslo", "where it fences"))

    def configure(self, config: Config) -> None:
        """Take the property."""


@hookimpl
def eosfw_fencers() -> Iterable[type[SitedFencer]]:
    return [SitedFencer]


@hookimpl
def eosfw_step_engines() -> Iterable[Any]:
    return [PlainEngine]


def command() -> None:
    """Greet, then fail in an unexpected way."""
    print("hello")  # noqa: T201 (it is the point)
    raise ZeroDivisionError("one\nover\nnothing")
