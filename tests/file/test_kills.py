"""Workers and brokers that are killed while log files are rotated and files come and go: each line is there once."""

from __future__ import annotations

import gzip
import os
import random
import shutil
from collections import Counter
from contextlib import closing

import pytest

from kills import EmbeddedBroker, Load, await_growth, kill_at_random, worker_under_load

TOPICS = ("log", "spool")
PIPELINE = """
[cluster]
backend = "memory"
"bootstrap.servers" = "{servers}"

[worker]
"group.id" = "kills"

[connectors.log]
"connector.class" = "file"
file = "{folder}/renamed.log,{folder}/truncated.log"
topic = "log"
rotation = "follow"
"rotation.wait.ms" = 200
"tasks.max" = 2
"batch.size" = 20
"eosfw.identity" = "none"

[connectors.spool]
"connector.class" = "file"
file = "{folder}/in"
topic = "spool"
"after.commit" = "move"
"after.commit.folder" = "{folder}/done"
"file.poll.interval.ms" = 200
"tasks.max" = 2
"batch.size" = 20
"eosfw.identity" = "none"
"""


class Logs:
    """Writes to two log files, and rotates each in its own way at random; old ones are packed."""

    def __init__(self, folder, rng):
        self._folder, self._rng, self._rotations = folder, rng, 0
        self.rotating = False
        self.lines = {name: [b"%s 0" % name.encode()] for name in ("renamed", "truncated")}
        for name, lines in self.lines.items():
            (folder / f"{name}.log").write_bytes(lines[0] + b"\n")

    def __call__(self):
        for name, lines in self.lines.items():
            path = self._folder / f"{name}.log"
            if self.rotating and self._rng.random() < 0.2 and path.stat().st_size:
                self._rotate(path, copy=name == "truncated")
            with path.open("ab") as file:
                for _ in range(self._rng.randrange(30)):
                    lines.append(b"%s %d" % (name.encode(), len(lines)))
                    file.write(lines[-1] + b"\n")

    def _rotate(self, path, *, copy):
        self._rotations += 1
        rotated = path.with_name(f"{path.name}-{self._rotations:08}")
        if copy:
            shutil.copy(path, rotated)
            os.truncate(path, 0)
        else:
            path.rename(rotated)
            path.touch()
        older = sorted(one for one in path.parent.glob(f"{path.name}-*") if one.suffix != ".gz")[:-2]
        for one in older:
            self._pack(one)

    def _pack(self, path):
        status = path.stat()
        packed = path.with_name(f"{path.name}.gz")
        packed.write_bytes(gzip.compress(path.read_bytes()))
        os.utime(packed, ns=(status.st_atime_ns, status.st_mtime_ns))
        path.unlink()


class Spool:
    """Puts whole files into a folder; names come again once the files before were moved."""

    def __init__(self, folder, rng):
        self._folder, self._rng, self.files = folder, rng, 0
        self.lines: Counter[bytes] = Counter()
        (folder / "in").mkdir()

    def __call__(self):
        for _ in range(self._rng.randrange(3)):
            path = self._folder / "in" / f"{self._rng.randrange(7)}.txt"
            if path.exists():
                continue
            self.files += 1
            lines = [b"file %d line %d" % (self.files, number) for number in range(self._rng.randrange(1, 60))]
            data = b"".join(line + b"\n" for line in lines)
            hidden = path.with_name(f".{path.name}")
            hidden.write_bytes(gzip.compress(data) if self._rng.random() < 0.5 else data)
            hidden.rename(path)
            self.lines.update(lines)


def read_lines(broker):
    return {row.value for row in broker.harness.rows("log")}


@pytest.fixture
def broker(tmp_path):
    with closing(EmbeddedBroker(tmp_path, TOPICS)) as one:
        yield one


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(4, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_killed_workers_and_brokers_lose_and_repeat_no_line(broker, tmp_path, rounds):
    """FIL-12: two log files that are rotated, and a folder whose files are moved once they were read."""
    rng = random.Random(rounds)
    logs, spool = Logs(tmp_path, random.Random(1)), Spool(tmp_path, random.Random(2))
    file = tmp_path / "kills.toml"
    file.write_text(PIPELINE.format(servers=broker.servers, folder=tmp_path))
    with worker_under_load(file, Load(logs, OSError), Load(spool, OSError)) as running:
        # What was rotated before the first start is not read.
        while not {lines[0] for lines in logs.lines.values()} <= read_lines(broker):
            await_growth(lambda: broker.committed(*TOPICS), 1, running)
        logs.rotating = True
        kill_at_random([broker, running], rounds, rng, lambda: broker.committed(*TOPICS), running)

    read = [row.value for row in broker.harness.rows("log")]
    for name, lines in logs.lines.items():
        assert [line for line in read if line.startswith(name.encode())] == lines
    assert Counter(row.value for row in broker.harness.rows("spool")) == spool.lines
    assert list((tmp_path / "in").iterdir()) == []
    assert len([one for one in (tmp_path / "done").iterdir() if not one.name.startswith(".")]) == spool.files
