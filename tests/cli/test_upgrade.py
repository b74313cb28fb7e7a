"""`eosfw upgrade check` finds what would send records again, before it does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.invocation import Ended, invoke
from tests.kip618.group import PLUGINS, Group, Served

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw.records import ProducerRecord
from eosfw_memory.cluster import EmbeddedCluster

KEY = b'["c",{"stream":"s0"}]'


@pytest.fixture
def group() -> Iterator[Group]:
    """A group that ran a connector with an offsets topic of its own, then stopped."""
    cluster = EmbeddedCluster.start({}, ThreadRuntime())
    group = Group(Served(cluster.bootstrap_servers, "memory"))
    with group:
        group.put(streams="1", until="5", **{"offsets.storage.topic": "own"})
        group.until_drained()
    yield group
    cluster.close()


def check(group: Group, folder: Path) -> Ended:
    file = folder / "worker.properties"
    file.write_text(
        f"bootstrap.servers={group.bootstrap_servers}\ngroup.id={group.name}\nexactly.once.source.support=enabled\n"
    )
    return invoke("upgrade", "check", "--config", str(file), "--backend", "memory", "--json")


def test_a_stale_offsets_topic_is_found_before_it_wins(group: Group, tmp_path: Path) -> None:
    """UPG-04: other software moved on in the group's topic alone, as after a hard downgrade."""
    clean = check(group, tmp_path)
    assert clean.returncode == ExitCode.OK, clean.stderr
    assert "is as new as the group's" in clean.stdout

    backend = PLUGINS.backend("memory").connect({"bootstrap.servers": group.bootstrap_servers}, ThreadRuntime())
    with closing(backend), closing(backend.producer(None)) as producer:
        producer.send(ProducerRecord(f"{group.name}-offsets", b'{"next":9}', KEY))
        producer.flush(30.0)
    stale = check(group, tmp_path)

    assert stale.returncode == ExitCode.VERDICT_FAILED
    (problem,) = [one for one in json.loads(stale.stdout)["findings"] if one["verdict"] == "problem"]
    assert problem["subject"] == "connector c"
    assert "{'next': 5}, there {'next': 9}" in problem["text"]
    assert "delete topic own" in problem["text"]


def test_a_file_without_a_cluster_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "w.properties").write_text("group.id=g\n")
    ended = invoke("upgrade", "check", "--config", str(tmp_path / "w.properties"))

    assert ended.returncode == ExitCode.CONFIGURATION
    assert "name the cluster" in ended.stderr
