"""A task tells how many bytes of its files it has read."""

from __future__ import annotations

import gzip

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

    assert (first, second) == (SourceProgress(0, 40), SourceProgress(12, 40))
    assert driven.task.progress() == SourceProgress(40, 42)


def test_how_much_a_compressed_file_holds_is_unknown(tmp_path):
    (tmp_path / "a").write_bytes(b"12\n" * 10)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"1\n" * 5))

    assert start(tmp_path).task.progress() is None
