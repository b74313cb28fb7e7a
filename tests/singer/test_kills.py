"""Workers, brokers and taps that are killed under load: what the topics give is the source."""

from __future__ import annotations

import itertools
import json
import random
import shutil
import sys
from contextlib import closing

import psutil
import pytest

from eosfw.concurrency import ThreadRuntime
from kills import WORKER_GROUP, EmbeddedBroker, Load, kill_at_random, worker_under_load

from .reading import TAP

STREAMS, BOUNDARIES = ("orders", "items"), ("poll", "connector")
TOPICS = [f"{boundary}-{stream}" for boundary in BOUNDARIES for stream in STREAMS]
CONNECTOR = """
[connectors.{boundary}]
"connector.class" = "singer"
"tap.command" = "{command}"
"tap.config" = '{config}'
"topic.prefix" = "{boundary}-"
"transaction.boundary" = "{boundary}"
"batch.max.rows" = 20
"poll.interval.ms" = 20
"retry.backoff.ms" = 20
"max.retries" = 1000
"eosfw.identity" = "none"
"""


class Rows:
    """A file of rows that grows: a few keys again and again, seven rows with each replication key."""

    def __init__(self, path, seed):
        self.path, self._rng, self._number = path, random.Random(seed), itertools.count()
        path.touch()

    def __call__(self):
        lines = [json.dumps(self._next(next(self._number))) for _ in range(self._rng.randrange(1, 20))]
        with self.path.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines))

    def _next(self, number):
        record = {"id": self._rng.randrange(50), "at": f"{number // 7:09}", "text": str(number)}
        return {"stream": self._rng.choice(STREAMS), "record": record}

    def of(self, stream):
        """The rows of a stream, in the order in which they came."""
        rows = map(json.loads, self.path.read_text().splitlines())
        return [row["record"] for row in rows if row["stream"] == stream]


class Tap:
    """Whichever run of the tap is under way."""

    def __init__(self, program):
        self._program, self._runtime = str(program), ThreadRuntime()

    def kill(self):
        while not any(map(self._kill, psutil.process_iter())):
            self._runtime.sleep(0.001)

    def start(self):
        """The connector does it."""

    def _kill(self, process):
        try:
            words = process.cmdline()
            if self._program not in words or words[0] == "/bin/sh":
                return False
            process.kill()
        except psutil.Error:  # it has ended meanwhile
            return False
        return True


@pytest.fixture
def broker(tmp_path):
    with closing(EmbeddedBroker(tmp_path, TOPICS)) as one:
        yield one


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(3, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_killed_workers_brokers_and_taps_lose_and_repeat_nothing(broker, tmp_path, rounds):
    """SNG-20: each topic has the rows of its stream, once each, in their order, whoever ends the transactions."""
    rng = random.Random(rounds)
    rows, program, file = Rows(tmp_path / "rows", rounds), tmp_path / "tap.py", tmp_path / "kills.toml"
    shutil.copy(TAP, program)
    config = json.dumps({"rows": str(rows.path), "state_every": 5})
    command = f"{sys.executable} -I -S {program}"
    connectors = [CONNECTOR.format(boundary=one, command=command, config=config) for one in BOUNDARIES]
    file.write_text("".join([WORKER_GROUP.format(servers=broker.servers), *connectors]))
    with worker_under_load(file, Load(rows, OSError)) as running:
        kill_at_random([Tap(program), broker, running], rounds, rng, lambda: broker.committed(*TOPICS), running)

    for boundary in BOUNDARIES:
        for stream in STREAMS:
            got = [json.loads(row.value) for row in broker.harness.rows(f"{boundary}-{stream}")]
            assert got == rows.of(stream), f"topic {boundary}-{stream}"
