"""Staged rows reach the driver whole, or a sentence says why not."""

from __future__ import annotations

import os
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from eosfw.errors import ConfigError, DamagedDataError
from eosfw_spark.micro_batch import MicroBatch
from eosfw_spark.sink import staging
from eosfw_spark.sink.staged_batch import remove_staged
from eosfw_spark.sink.staging import INLINE, Staging, checkpoint_name, offset_log_entry, staging_location, write_folder


def batch(rows: int) -> pa.RecordBatch:
    values = [b"%0100d" % number for number in range(rows)]
    return pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary())})


@pytest.fixture(params=["", "file://"], ids=["path", "uri"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Staging:
    return Staging.prepare(f"{request.param}{tmp_path}/staged", None)


def values(place: Staging, staged: staging.StagedRows) -> list[bytes]:
    return [value for each in place.read(staged) for value in each["value"].to_pylist()]


@pytest.mark.parametrize("rows", [[], [0], [3], [3, 4], [INLINE // 100 + 1], [1000] * 5])
def test_staged_rows_are_read_as_they_were(place: Staging, rows: list[int]) -> None:
    """Few of them travel with the commit message."""
    batches = [batch(each) for each in rows]

    staged = place.stage(iter(batches), "query/0", 0)

    assert values(place, staged) == [value for each in batches for value in each["value"].to_pylist()]
    assert staged.rows == sum(rows)
    assert (staged.path is None) == (place.folders("query") == []) == (sum(rows) * 100 <= INLINE)


def test_staged_files_are_found_without_their_messages(place: Staging) -> None:
    """SPK-03: Spark loses the messages of healthy tasks when another task fails; attempts have files of their own."""
    first, second, _ = (place.stage(iter([batch(5000)]), f"query/{number}", 0) for number in (0, 0, 1))
    assert first.path != second.path
    assert values(place, first) == values(place, second)
    assert sorted(place.folders("query")) == ["0", "1"]

    place.remove("query/0")
    place.remove("query/0")

    assert place.folders("query") == ["1"]
    assert place.folders("nothing") == []


def test_drivers_that_start_at_the_same_time_have_one_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else executors of the first one would be told that they lack its storage, or would not be asked at all."""
    others: list[Staging] = []

    def other_driver() -> uuid.UUID:
        monkeypatch.setattr(staging.uuid, "uuid4", uuid4)
        others.append(Staging.prepare(str(tmp_path), None))
        return uuid4()

    uuid4 = uuid.uuid4
    monkeypatch.setattr(staging.uuid, "uuid4", other_driver)
    own = Staging.prepare(str(tmp_path), None)

    assert own.marker
    assert [each.marker for each in others] == [own.marker]
    assert [each.name for each in tmp_path.iterdir()] == [".eosfw-driver"]


def test_what_a_killed_drivers_write_staged_is_removed_a_week_later(place: Staging) -> None:
    """By another write; what may still be published stays, and whatever else lies in a folder that the user named."""
    killed, runs = write_folder(str(uuid.uuid4())), write_folder(str(uuid.uuid4()))
    names = [killed, runs, "query", "write-archive", f"{killed}-copy"]
    staged = {name: place.stage(iter([batch(5000)]), f"{name}/0", 0) for name in names}
    root = Path(place.location.removeprefix("file://"))
    now = root.stat().st_mtime
    for each in root.rglob("*"):
        if runs not in each.parts:
            os.utime(each, (now, now - 8 * 86_400))

    place.remove_abandoned_writes(now)

    assert sorted(place.folders(".")) == sorted(set(names) - {killed})
    assert len(values(place, staged[runs])) == 5000


@pytest.mark.parametrize("uri", ["store://KEY:secret@bucket/staged", "s3://KEY:sec/ret@bucket/staged"])
def test_a_location_is_named_without_its_keys(uri: str) -> None:
    """Arrow's own text quotes what it cannot read."""
    with pytest.raises(ConfigError, match=r"cannot write to \w+://\*\*\*@bucket/staged: .*stagingLocation") as raised:
        Staging.prepare(uri, None)

    assert "KEY" not in str(raised.value)
    assert "ret" not in str(raised.value)


def test_storage_that_is_away_after_a_commit_is_no_error(place: Staging) -> None:
    """The rows are published: a job that failed now would be run again, and write them twice."""
    away = replace(place, location="store://bucket/staged")

    away.remove("query/0")
    assert away.folders("query") == []


def test_executor_without_the_drivers_storage_says_so(place: Staging, tmp_path: Path) -> None:
    elsewhere = Staging(str(tmp_path / "other"), place.marker)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / ".eosfw-driver").write_text("another driver's")

    for executor in (elsewhere, Staging(str(tmp_path / "nothing"), place.marker)):
        with pytest.raises(ConfigError, match=r"executor \S+ does not have the driver's storage .* stagingLocation"):
            executor.stage(iter([batch(5000)]), "query/0", 0)


def test_driver_that_cannot_write_names_the_option(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    for impossible in (str(tmp_path / "file" / "below"), "nosuch://bucket/x"):
        with pytest.raises(ConfigError, match="stagingLocation"):
            Staging.prepare(impossible, None)


def test_missing_or_shorter_staged_file_is_refused(place: Staging) -> None:
    staged = place.stage(iter([batch(5000)]), "query/0", 0)
    path = Path(place.location) / str(staged.path)

    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DamagedDataError, match="bytes; its task wrote"):
        values(place, staged)
    path.unlink()
    with pytest.raises(DamagedDataError, match="is gone"):
        values(place, staged)


@pytest.mark.parametrize(
    ("given", "checkpoint", "chosen"),
    [
        ("/own", "/checkpoint", "/own"),
        ("file:///own", None, "/own"),
        ("s3://bucket/own", "/checkpoint", "s3://bucket/own"),
        (None, "/checkpoint", "/checkpoint/eosfw-staging"),
        (None, "file:/checkpoint", "/checkpoint/eosfw-staging"),
    ],
)
def test_location_is_the_option_else_the_checkpoint(given: str | None, checkpoint: str | None, chosen: str) -> None:
    assert staging_location(given, checkpoint) == chosen


def test_location_without_a_path_is_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    for checkpoint in (None, "hdfs://name/checkpoint"):
        folder = Path(staging_location(None, checkpoint))
        assert folder.parent == tmp_path
        assert folder.stat().st_mode & 0o077 == 0

    folder.chmod(0o755)
    with pytest.raises(ConfigError, match="not a folder of this user alone"):
        staging_location(None, None)


def test_a_published_batch_does_not_fail_for_what_cannot_be_removed(place: Staging) -> None:
    """Whoever is told that a write failed runs it again, and has its rows twice."""
    (Path(place.location) / "query").write_text("a file where a folder should be")

    remove_staged(place, MicroBatch("query", 0))


def test_copies_of_a_checkpoint_in_two_working_directories_have_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one name, the rows of the copy would be taken for a replay, and skipped."""
    names = []
    for folder in ("one", "copy"):
        (tmp_path / folder / "checkpoint").mkdir(parents=True)
        monkeypatch.chdir(tmp_path / folder)
        names.append(checkpoint_name("checkpoint"))

    assert names == [str(tmp_path / "one" / "checkpoint"), str(tmp_path / "copy" / "checkpoint")]


def test_a_batch_is_known_by_its_entry_in_the_offset_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that is not on this machine has none that is known, even if a folder here looks like one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "offsets").mkdir()
    entries = []
    for text in ("v1\n{}\n3", "v1\n{}\n3", "v1\n{}\n6"):
        (tmp_path / "offsets" / "4").write_text(text)
        entries.append(offset_log_entry(str(tmp_path), 4))

    assert entries[0] == entries[1] != entries[2]
    assert [offset_log_entry(each, 4) for each in ("hdfs://name/checkpoint", "")] == ["", ""]
    assert offset_log_entry(str(tmp_path), 5) == ""


@pytest.mark.parametrize("checkpoint", ["hdfs://name/checkpoint", "relative/to/a/remote/home", ""])
def test_checkpoint_elsewhere_keeps_its_name(checkpoint: str) -> None:
    assert checkpoint_name(checkpoint) == checkpoint
    assert checkpoint_name(None) == ""
