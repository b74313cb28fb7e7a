"""What a line is."""

from __future__ import annotations

import pytest

from .task_harness import read, start


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\n", [b"a", b"b"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\x0bb\x1cc\xc2\x85d\n", [b"a\x0bb\x1cc\xc2\x85d"]),
        (b"\xff\x00\n\n\nlast\n", [b"\xff\x00", b"", b"", b"last"]),
    ],
)
def test_a_line_is_the_bytes_up_to_a_newline(tmp_path, content, values):
    """The value is the line; nothing but a newline ends it, whatever the bytes mean elsewhere."""
    (tmp_path / "lines.txt").write_bytes(content)

    assert read(tmp_path / "lines.txt") == values


def test_an_offset_is_the_byte_behind_its_line(tmp_path):
    """The position counts bytes, line ends included."""
    (tmp_path / "lines.txt").write_bytes("ä\r\nb\n\n".encode())

    (batch,) = start(tmp_path / "lines.txt", record_offsets=True).polls()

    assert [offset["position"] for offset in batch.source_offsets] == [4, 6, 7]
    assert batch.source_offset == batch.source_offsets[-1]
    assert batch.source_partition == {"filename": str(tmp_path / "lines.txt")}


def test_a_poll_gives_at_most_a_batch(tmp_path):
    """`batch.size` bounds a poll; only the last one is smaller."""
    (tmp_path / "lines.txt").write_bytes(b"line\n" * 7)

    batches = start(tmp_path / "lines.txt", batch_size="3").polls()

    assert [len(batch) for batch in batches] == [3, 3, 1]


def test_batches_stay_full_across_chunks_of_a_file(tmp_path):
    """Reading by chunks does not show in the batches."""
    lines = [b"%07d" % number * 20 for number in range(30_000)]  # 4 MB, several chunks
    (tmp_path / "lines.txt").write_bytes(b"\n".join(lines) + b"\n")

    batches = start(tmp_path / "lines.txt").polls()

    assert {len(batch) for batch in batches} == {2000}
    assert [value for batch in batches for value in batch.values] == lines


def test_a_line_longer_than_a_chunk_is_one_record(tmp_path):
    """Chunks grow with the line."""
    (tmp_path / "lines.txt").write_bytes(b"x" * 5_000_000 + b"\nshort\n")

    assert [len(value) for value in read(tmp_path / "lines.txt")] == [5_000_000, 5]


def test_huge_lines_make_small_batches(tmp_path):
    """A poll does not gather `batch.size` lines when they are huge, so memory stays bounded."""
    (tmp_path / "lines.txt").write_bytes((b"x" * 3_000_000 + b"\n") * 12)

    batches = start(tmp_path / "lines.txt").polls()

    assert sum(len(batch) for batch in batches) == 12
    assert max(len(batch) for batch in batches) < 6
