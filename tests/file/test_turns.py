"""A task reads its files in turn."""

from __future__ import annotations

import gzip
import json
import tracemalloc

import fsspec
import pytest
import zstandard
from fsspec.implementations.memory import MemoryFileSystem

from eosfw_file import FileSourceConnector, FileSourceTask
from eosfw_file import task as task_module
from eosfw_file.properties import task_properties

from .task_harness import start


def write(folder, **sizes: int):
    for name, lines in sizes.items():
        (folder / name).write_bytes(b"".join(b"%s %d\n" % (name.encode(), line) for line in range(lines)))
    return folder


def test_each_file_comes_whole_and_in_order(tmp_path):
    """A source batch holds records of one file."""
    batches = start(write(tmp_path, a=25, b=0, c=7), batch_size="10").polls()

    assert [(batch.source_partition["filename"][-1], len(batch)) for batch in batches] == [
        ("a", 10), ("a", 10), ("a", 5), ("c", 7),
    ]  # fmt: skip


def test_a_long_file_does_not_keep_the_others_waiting(tmp_path, monkeypatch):
    """After its turn a file steps back; what it had read ahead is read again, nothing twice."""
    monkeypatch.setattr(task_module, "POLLS_PER_TURN", 2)
    driven = start(write(tmp_path, a=50, b=50, c=3), batch_size="10")

    batches = driven.polls()

    assert "".join(batch.source_partition["filename"][-1] for batch in batches) == "aabbcaabbab"
    values = [value for batch in batches for value in batch.values]
    assert sorted(values) == sorted(set(values))
    assert len(values) == 103


def test_lines_appended_to_a_finished_file_are_read(tmp_path):
    """A task that had nothing to give is not done for good."""
    driven = start(write(tmp_path, a=1, b=1))
    driven.polls()
    assert driven.task.at_end() is True

    with (tmp_path / "a").open("ab") as growing:
        growing.write(b"more\n")

    assert driven.task.at_end() is False
    assert driven.values() == [b"more"]


def test_no_file_stays_open_between_polls(tmp_path):
    """So a task of ten thousand files does not exhaust the descriptors of its process."""
    driven = start(write(tmp_path, a=50, b=50), batch_size="10")

    driven.task.poll()

    assert not any(str(tmp_path) in str(link.resolve()) for link in descriptors())


@pytest.fixture
def far():
    """The file system `memory://`, empty."""
    MemoryFileSystem.store.clear()
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()


PACK = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("where", ["near", "far"])
def test_files_that_were_read_keep_no_memory(tmp_path, far, kind, where):
    """So a task of ten thousand files does not exhaust it, packed ones and those of other machines included."""
    lines = b"".join(b"%06d %s\n" % (number, b"x" * 90) for number in range(3000))
    for number in range(30):
        data = PACK[kind](lines + b"not whole yet")
        (tmp_path / f"{number}").write_bytes(data) if where == "near" else far.pipe_file(f"/in/{number}", data)
    driven = start(tmp_path if where == "near" else "memory://in")
    tracemalloc.start()
    try:
        count = sum(map(len, iter(driven.task.poll, None)))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert count == 30 * 3000
    assert kept < len(lines)


def test_a_file_of_another_machine_keeps_no_block_while_others_have_their_turn(far, monkeypatch):
    """A block has 4 MiB, and a task may have a thousand such files."""
    monkeypatch.setattr(task_module, "POLLS_PER_TURN", 2)
    lines = b"".join(b"%06d %s\n" % (number, b"x" * 90) for number in range(9000))
    for number in range(10):
        far.pipe_file(f"/in/{number}", lines)
    driven = start("memory://in", batch_size="10")
    tracemalloc.start()
    try:
        values = [value for _ in range(20) for value in driven.task.poll().values]
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert len(values) == 200
    assert kept < 2 * len(lines)
    assert len(set(driven.values())) == 9000 - 20


def test_the_names_of_many_files_fit_the_configuration_of_a_task():
    """It is a record of the config topic, which has 1 MiB."""
    names = [
        f"/data/exports-of-2026/from-a-shop-far-away/orders-2026-11-30-{number:06d}.jsonl" for number in range(50_000)
    ]
    config = FileSourceConnector.config.parse({"file": "/data", "topic": "lines"})

    shares = task_properties(config, names)

    assert len(json.dumps(dict(shares))) < 1_000_000
    assert FileSourceTask.config.parse(shares)["task.files"] == tuple(names)


def descriptors():
    from pathlib import Path

    return [link for link in Path("/dev/fd").iterdir() if link.is_symlink()]
