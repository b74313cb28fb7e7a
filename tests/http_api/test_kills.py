"""Workers, brokers and APIs that are killed under load: the topic is the list."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from kills import WORKER_GROUP, EmbeddedBroker, Load, kill_at_random, worker_under_load
from ports import free_port

CONNECTOR = """
[connectors.{name}]
"connector.class" = "http"
url = "{url}"
topic = "{name}"
paging = "{paging}"
"records.path" = "data.rows"
"cursor.path" = "next"
"page.size" = 20
"key.path" = "key"
"poll.interval.ms" = 20
"retry.backoff.ms" = 20
"retry.backoff.max.ms" = 100
"auth.type" = "oauth2"
"oauth2.token.url" = "{token}"
"oauth2.client.id" = "me"
"oauth2.client.secret" = "not-this-one"
"""
SINCE = """
"incremental.path" = "changed"
"incremental.parameter" = "since"
"""
CONNECTORS = {"pages": ("page", ""), "cursors": ("cursor", ""), "links": ("link", ""), "bookmarks": ("page", SINCE)}


class ApiProcess:
    """`api_process.py`, whose list is a file of lines."""

    def __init__(self, file: Path) -> None:
        self._file, self.port = file, free_port()
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.http_api.api_process", str(self._file), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout.readline()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    close = kill


class Growth:
    """Adds lines of records; groups of them share a bookmark, and come at once or one by one."""

    def __init__(self, file: Path, seed: int) -> None:
        self._file, self._rng, self.count = file, random.Random(seed), 0

    def __call__(self) -> None:
        with self._file.open("a") as lines:
            for _ in range(self._rng.randrange(1, 40)):
                record = {"id": self.count, "key": self._rng.randrange(10), "changed": self.count // 7}
                lines.write(json.dumps(record) + "\n")
                self.count += 1


@pytest.fixture
def broker(tmp_path):
    with closing(EmbeddedBroker(tmp_path, CONNECTORS, 3)) as one:
        yield one


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "rounds", [pytest.param(4, marks=pytest.mark.ci), pytest.param(100, marks=pytest.mark.nightly)]
)
def test_killed_workers_apis_and_brokers_lose_and_repeat_nothing(broker, tmp_path, rounds):
    """HTP-10: with pages, cursors, links and bookmarks; records of a key stay in their order."""
    lines = tmp_path / "lines.jsonl"
    growth = Growth(lines, rounds)
    growth()
    api = ApiProcess(lines)
    place = f"http://127.0.0.1:{api.port}"
    sections = [
        CONNECTOR.format(name=name, url=f"{place}/rows", token=f"{place}/token", paging=paging) + more
        for name, (paging, more) in CONNECTORS.items()
    ]
    file = tmp_path / "kills.toml"
    file.write_text(WORKER_GROUP.format(servers=broker.servers) + "".join(sections))
    victims, rng = [api, broker], random.Random(rounds)
    with closing(api), worker_under_load(file, Load(growth, OSError)) as running:
        kill_at_random([*victims, running], rounds, rng, lambda: broker.committed(*CONNECTORS), running)

    records = [json.loads(line) for line in lines.read_text().splitlines()]
    due = by_key(records)
    for topic in CONNECTORS:
        assert by_key(json.loads(row.value) for row in broker.harness.rows(topic)) == due, topic


def by_key(records):
    """The records of each key, in their order."""
    keys = defaultdict(list)
    for record in records:
        keys[record["key"]].append(record["id"])
    return keys
