"""Compressed files are read as what they hold, exactly once; other content that is no text is refused."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import zlib
from itertools import pairwise

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw_file import FileSourceConnector
from eosfw_file.files import compressed_file

from .task_harness import read, start

ROWS = [b"row %06d of many, told apart by its number alone" % number for number in range(60_000)]
PLAIN = b"\n".join(ROWS) + b"\n"
"""About 3 MB: several chunks."""
COMPRESS = {"gzip": gzip.compress, "zstd": zstandard.compress}
BY_STREAM = {
    "gzip": lambda: zlib.compressobj(wbits=31),
    "zstd": lambda: zstandard.ZstdCompressor().compressobj(),
}

each = pytest.mark.parametrize("kind", COMPRESS)


def write(folder, data: bytes):
    file = folder / "rows"
    file.write_bytes(data)
    return file


@each
def test_a_compressed_file_gives_the_lines_it_holds(tmp_path, kind):
    """Compression is detected by the first bytes, not by the file's name."""
    assert read(write(tmp_path, COMPRESS[kind](PLAIN))) == ROWS


@each
@given(
    lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), min_size=1, max_size=60),
    cuts=st.lists(st.integers(0, 2_000), max_size=4),
    size=st.integers(1, 9),
)
def test_offsets_are_those_of_the_plain_file(tmp_path_factory, kind, lines, cuts, size):
    """However it was compressed: the same records behind the same positions, from every one of them on."""
    folder, text = tmp_path_factory.mktemp("same"), b"\n".join(lines) + b"\n"
    ends = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    file, plain = folder / "packed", folder / "plain"
    file.write_bytes(b"".join(COMPRESS[kind](text[at:end]) for at, end in pairwise(ends)))
    plain.write_bytes(b"x" + text)  # never taken for compressed, whatever the lines are

    batches = start(file, batch_size=str(size)).polls()

    expected = start(plain, batch_size=str(size)).polls()
    assert [value for batch in batches for value in batch.values][1:] == [
        value for batch in expected for value in batch.values
    ][1:]
    assert [batch.source_offset["position"] + 1 for batch in batches] == [
        batch.source_offset["position"] for batch in expected
    ]
    for number, batch in enumerate(batches):
        rest = [value for later in batches[number + 1 :] for value in later.values]
        assert read(file, {str(file): batch.source_offset}, batch_size=str(size)) == rest


@each
def test_several_compressed_parts_one_behind_the_other_are_one_text(tmp_path, kind):
    """`cat one.gz two.gz` makes such files, and writers that append do."""
    file = write(tmp_path, b"".join(COMPRESS[kind](PLAIN[at : at + 500_001]) for at in range(0, len(PLAIN), 500_001)))

    assert read(file) == ROWS


@each
def test_an_appended_compressed_part_is_read_incrementally(tmp_path, kind):
    """The file may grow while it is read, and between two runs."""
    file = write(tmp_path, COMPRESS[kind](b"one\n"))
    driven = start(file)
    (batch,) = driven.polls()
    assert driven.task.at_end() is True

    with file.open("ab") as growing:
        growing.write(COMPRESS[kind](b"two\n"))

    assert driven.task.at_end() is False
    assert driven.values() == [b"two"]
    assert read(file, {str(file): batch.source_offset}) == [b"two"]


@each
def test_a_stream_that_is_still_being_written_waits_for_its_rest(tmp_path, kind):
    """As a line without its newline does: what can be read is given, the rest is waited for, and the user told."""
    whole = COMPRESS[kind](PLAIN)
    file = write(tmp_path, whole[: len(whole) // 2])
    driven = start(file)

    first = driven.values()
    assert driven.task.at_end() is True
    ((reported, text, _),) = driven.context.notices
    assert reported == "waiting line"
    assert "rows, line" in text
    assert "compressed" in text

    file.write_bytes(whole)  # the same inode, as for a writer that goes on
    assert driven.task.at_end() is False
    assert first + driven.values() == ROWS
    assert driven.task.at_end() is True


@each
def test_every_flush_of_a_writer_can_be_read(tmp_path, kind):
    """Bytes come as they come: cut anywhere, also in a header, nothing is lost or doubled."""
    stream = BY_STREAM[kind]()
    data = stream.compress(b"one\ntwo\n") + stream.flush(
        *([zlib.Z_SYNC_FLUSH] if kind == "gzip" else [zstandard.COMPRESSOBJ_FLUSH_BLOCK])
    )
    data += stream.compress(b"three\n") + stream.flush() + COMPRESS[kind](b"four\n")
    file = write(tmp_path, data[:4])
    driven = start(file)

    found = driven.values()
    for end in range(5, len(data) + 1):
        file.write_bytes(data[:end])
        found += driven.values()

    assert found == [b"one", b"two", b"three", b"four"]


@each
def test_a_finished_file_that_ends_in_its_middle_fails(tmp_path, kind):
    """`incomplete.last.line = emit` says that nothing will follow; half a line must not pass for a whole one."""
    whole = COMPRESS[kind](PLAIN)
    driven = start(write(tmp_path, whole[: len(whole) // 2]), incomplete_last_line="emit")

    given = []

    def polled() -> None:
        while (batch := driven.task.poll()) is not None:
            given.extend(batch.values)

    with pytest.raises(DamagedDataError, match=r"rows ends in the middle of its compressed data"):
        polled()

    assert given
    assert given == ROWS[: len(given)]


@each
def test_damaged_compressed_data_fails_the_task_by_file_and_position(tmp_path, kind):
    """The undamaged lines before are returned first."""
    data = bytearray(COMPRESS[kind](PLAIN))
    data[len(data) * 3 // 4 : len(data) * 3 // 4 + 64] = bytes(64)
    driven = start(write(tmp_path, bytes(data)))

    with pytest.raises(DamagedDataError, match=rf"rows cannot be read as {kind} behind byte \d+"):
        driven.polls()


@each
def test_another_file_in_its_place_is_noticed(tmp_path, kind):
    """By what it holds and by its inode, as for a plain file."""
    file = write(tmp_path, COMPRESS[kind](PLAIN))
    offset = start(file, batch_size="5").task.poll().source_offset

    file.write_bytes(COMPRESS[kind](b"other\n" * 5_000))

    with pytest.raises(DamagedDataError, match="is not the file that was read before"):
        read(file, {str(file): offset})


@each
def test_a_file_that_lost_what_was_read_is_noticed(tmp_path, kind):
    """The same beginning, and less than the committed position behind it."""
    file = write(tmp_path, COMPRESS[kind](PLAIN))
    offset = start(file, batch_size="20000").task.poll().source_offset

    file.write_bytes(COMPRESS[kind](PLAIN[:5_000]))

    with pytest.raises(DamagedDataError, match="was truncated: it has 5000 bytes"):
        read(file, {str(file): offset})


@each
def test_malformed_rows_of_a_compressed_file_are_named_by_line(tmp_path, kind):
    """Lines are counted in what the file holds."""
    file = write(tmp_path, COMPRESS[kind](b"a,b\n1,2\n3\n4,5\n6\n"))
    driven = start(file, format="csv", malformed="skip")

    assert driven.values() == [b'{"a":"1","b":"2"}', b'{"a":"4","b":"5"}']
    assert [text.split(":")[0] for _, text, _ in driven.context.notices] == [f"{file}, line 3", f"{file}, line 5"]


@each
def test_a_decompression_bomb_uses_bounded_memory(tmp_path, kind):
    """A line has an end or the task fails; memory holds neither all of the file nor much ahead."""
    import tracemalloc

    bomb = b"".join(COMPRESS[kind](bytes(1 << 24)) for _ in range(16))  # 256 MiB without a newline
    driven = start(write(tmp_path, bomb))

    tracemalloc.start()
    try:
        with pytest.raises(DamagedDataError, match="a line of more than 64 MiB"):
            driven.task.poll()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 3.5 * (1 << 26)


@each
def test_alternating_between_compressed_files_unpacks_each_once(tmp_path, monkeypatch, kind):
    """What was read ahead of it stays: reading it again would mean to unpack all that lies before."""
    monkeypatch.setattr("eosfw_file.task.POLLS_PER_TURN", 1)
    begun = []
    begin = compressed_file._decompressor
    monkeypatch.setattr(compressed_file, "_decompressor", lambda kind: begun.append(kind) or begin(kind))
    for name in "ab":
        (tmp_path / name).write_bytes(COMPRESS[kind](PLAIN))
    driven = start(tmp_path, batch_size="7000")
    begun.clear()

    values = driven.values()

    assert sorted(values) == sorted(ROWS * 2)
    assert begun == []


REFUSED = {
    "bzip2": bz2.compress(b"line\n"),
    "xz": lzma.compress(b"line\n"),
    "zip": b"PK\x03\x04" + bytes(60),
    "lz4": b"\x04\x22\x4d\x18" + bytes(60),
    "7z": b"7z\xbc\xaf\x27\x1c" + bytes(60),
    "snappy": b"\xff\x06\x00\x00sNaPpY" + bytes(60),
    "compress": b"\x1f\x9d\x90" + bytes(60),
    "UTF-16": "Zeile\nnächste\n".encode("utf-16"),
    "UTF-16 ": "\ufeffZeile\n".encode("utf-16-be"),
    "UTF-16  ": "line one\nline two\n".encode("utf-16-le"),
    "UTF-16   ": "line one\nline two\n".encode("utf-16-be"),
    "UTF-32": "line\n".encode("utf-32"),
}


@pytest.mark.parametrize("form", ["lines", "csv", "jsonl"])
def test_content_that_is_no_text_is_refused_by_its_first_bytes(tmp_path, form):
    """Before anything starts, and by a task whose file came to hold it later; nothing of it is committed."""
    for name, content in REFUSED.items():
        file = write(tmp_path, content)
        config = FileSourceConnector.config.parse({"file": str(file), "topic": "t", "format": form})
        (problem,) = FileSourceConnector().problems(config)
        file.write_bytes(b"")
        driven = start(file, format=form)
        assert driven.values() == []

        file.write_bytes(content)

        with pytest.raises(DamagedDataError) as failure:
            driven.task.poll()
        for text in (str(problem), str(failure.value)):
            assert str(file) in text
            assert name.strip() in text


@each
def test_a_file_found_to_be_compressed_is_not_read_as_lines(tmp_path, kind):
    """It was empty when its task started: a new start reads it as what it is."""
    file = write(tmp_path, b"")
    driven = start(file)
    assert driven.values() == []

    file.write_bytes(COMPRESS[kind](b"one\n"))

    with pytest.raises(DamagedDataError, match=rf"{kind}.*start the connector again"):
        driven.task.poll()
    assert read(file) == [b"one"]


def test_zstd_without_its_library_says_what_to_install(tmp_path, monkeypatch):
    """Python 3.11 brings gzip alone."""
    file = write(tmp_path, zstandard.compress(PLAIN))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    config = FileSourceConnector.config.parse({"file": str(file), "topic": "t"})

    (problem,) = FileSourceConnector().problems(config)

    assert f"{file} is compressed with zstd" in str(problem)
    assert "pip install 'eosfw-file[zstd]'" in str(problem)
