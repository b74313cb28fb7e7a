"""A task tells how many bytes of its files it has read."""

from __future__ import annotations

import gzip
import os

from eosfw.connectors import SourceProgress

from .task_harness import start


def test_progress_is_polled_bytes_of_all_file_bytes(tmp_path):
    (tmp_path / "a").write_bytes(b"12\n" * 10)
    (tmp_path / "b").write_bytes(b"1\n" * 5)
    driven = start(tmp_path, batch_size="4")

    first = driven.task.progress()
    driven.task.poll()
    second = driven.task.progress()
    driven.polls()
    (tmp_path / "b").write_bytes(b"1\n" * 6)
    assert not driven.task.at_end()

    assert (first, second) == (SourceProgress(0, 40), SourceProgress(12, 40))
    assert driven.task.progress() == SourceProgress(40, 42)


def test_how_much_a_compressed_file_holds_is_unknown(tmp_path):
    (tmp_path / "a").write_bytes(b"12\n" * 10)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"1\n" * 5))

    assert start(tmp_path).task.progress() is None


def test_a_task_without_news_looks_at_each_file_twice(tmp_path, monkeypatch):
    """In a poll, and when it is asked for its end; its progress needs no look of its own."""
    for number in range(50):
        (tmp_path / f"{number}").write_bytes(b"1\n")
    driven = start(tmp_path)
    driven.polls()
    looks = []
    found = os.stat
    monkeypatch.setattr("os.stat", lambda path: (looks.append(path), found(path))[1])

    driven.task.poll()
    assert driven.task.at_end()
    assert driven.task.progress() == SourceProgress(100, 100)

    assert len(looks) == 2 * 50
