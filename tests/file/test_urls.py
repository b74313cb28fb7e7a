"""Files of other machines are read by fsspec, whatever its file system."""

from __future__ import annotations

import builtins
import gzip
import json
import zipfile

import fsspec
import pytest
import zstandard
from fsspec.implementations.memory import MemoryFileSystem

from eosfw.errors import ConfigError, DamagedDataError, RetriableError
from eosfw_file import FileSourceConnector

from .task_harness import committed_polls, start, task_properties

LINES = b"".join(b"line %06d\n" % number for number in range(3000))


@pytest.fixture
def memory():
    """The file system `memory://`, empty."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield fsspec.filesystem("memory")
    MemoryFileSystem.store.clear()


def write(memory, path, data):
    memory.pipe_file(path, data)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("memory://in/a.txt", ["/in/a.txt"]),
        ("memory://in", ["/in/a.txt", "/in/b.csv"]),
        ("memory://in/*.txt", ["/in/a.txt"]),
        ("memory://in/**/*.txt", ["/in/a.txt", "/in/deep/c.txt"]),
        ("memory://in/a.txt,memory://in/deep", ["/in/a.txt", "/in/deep/c.txt"]),
    ],
)
def test_a_url_may_be_a_file_a_pattern_or_a_folder(memory, file, found):
    """FIL-06: each file by its own URL."""
    for path in ("/in/a.txt", "/in/b.csv", "/in/.hidden", "/in/deep/c.txt"):
        write(memory, path, b"x\n")

    (share,) = task_properties(file)

    assert json.loads(share["task.files"]) == [f"memory:/{path}" for path in found]


def test_a_url_of_this_machine_is_its_path(tmp_path):
    """FIL-06: so it has an inode."""
    (tmp_path / "a.txt").write_bytes(b"one\n")

    (batch,) = start(f"file://{tmp_path}/a.txt").polls()

    assert batch.source_partition == {"filename": f"{tmp_path}/a.txt"}


def test_files_in_a_file_of_another_file_system_are_read(memory, tmp_path):
    """FIL-06: URLs may be chained."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("one.txt", LINES)
        packed.writestr("two.txt", b"two\n")

    (share,) = task_properties(f"zip://*.txt::file://{tmp_path}/a.zip")

    urls = json.loads(share["task.files"])
    assert urls == [f"zip://{name}.txt::file://{tmp_path}/a.zip" for name in ("one", "two")]
    assert start(f"zip://*.txt::file://{tmp_path}/a.zip").values() == [*LINES.splitlines(), b"two"]


PACKED = {"plain": bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_a_task_goes_on_behind_any_record(memory, pack, monkeypatch):
    """FIL-06, FIL-07: with blocks smaller than a batch, and at its end."""
    monkeypatch.setattr("eosfw_file.files.remote_file.BLOCK_BYTES", 1000)
    write(memory, "/a", pack(LINES))
    (batch, *more) = start("memory://a", record_offsets=True).polls()
    values = [value for one in (batch, *more) for value in one.values]
    offsets = [offset for one in (batch, *more) for offset in one.source_offsets]

    assert values == LINES.splitlines()
    for at in (0, 1, 87, 1500, 2998, 2999):
        assert start("memory://a", {"memory://a": offsets[at]}).values() == values[at + 1 :]


@pytest.mark.parametrize("pack", PACKED.values(), ids=PACKED)
def test_what_is_appended_is_read(memory, pack):
    """FIL-06, FIL-07: a file is looked at now and then."""
    write(memory, "/a", pack(b"one\n"))
    driven = start("memory://a")
    first = driven.values()
    write(memory, "/a", pack(b"one\n") + pack(b"two\n"))

    later = [value for _ in range(20) for value in driven.values()]

    assert (first, later) == ([b"one"], [b"two"])


def test_a_file_at_its_end_is_looked_at_now_and_then_alone(memory, monkeypatch):
    """FIL-06: each look is a request that costs money."""
    write(memory, "/a", LINES)
    driven = start("memory://a", file_poll_interval_ms="1000000")
    driven.polls()
    asked = []
    monkeypatch.setattr(memory, "info", asked.append)

    for _ in range(100):
        assert driven.task.poll() is None
        assert driven.task.at_end()

    assert asked == []


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"short\n", "was truncated: it has 6 bytes"),
        (b"x" * len(LINES), "is not the file that was read before"),
        (None, "there is no file memory://a|disappeared"),
    ],
)
def test_a_file_that_changed_is_not_resumed(memory, data, what):
    """FIL-06: as a file of this machine."""
    write(memory, "/a", LINES)
    (batch, *_) = start("memory://a").polls()
    memory.rm("/a")
    if data is not None:
        write(memory, "/a", data)

    with pytest.raises((DamagedDataError, ConfigError), match=what):
        start("memory://a", {"memory://a": batch.source_offset}).polls()


@pytest.mark.parametrize("data", [b"x" * len(LINES), b"x" * 2 * len(LINES)], ids=["as long", "longer"])
def test_a_file_that_is_rewritten_while_it_is_read_fails_the_task(memory, monkeypatch, data):
    """FIL-06: by its first bytes."""
    for name in ("eosfw_file.files.remote_file.BLOCK_BYTES", "eosfw_file.reader.CHUNK_BYTES"):
        monkeypatch.setattr(name, 5000)
    write(memory, "/a", LINES)
    driven = start("memory://a", batch_size="100")
    driven.task.poll()
    write(memory, "/a", data)

    with pytest.raises(DamagedDataError, match="was replaced or rewritten while it was read"):
        driven.polls()


class Failing:
    """Lets each of so many calls of a file system fail."""

    def __init__(self, memory, monkeypatch, error, each=1):
        self.calls, self._error, self._each = 0, error, each
        for name in ("info", "cat_file"):
            monkeypatch.setattr(memory, name, self._failing(getattr(memory, name)))

    def _failing(self, real):
        def call(*args, **named):
            self.calls += 1
            if self.calls % self._each == 0:
                raise self._error
            return real(*args, **named)

        return call


class EndpointConnectionError(Exception):
    """As botocore's, whose text may have what must not be shown."""


@pytest.mark.parametrize("error", [OSError("secret"), TimeoutError("secret"), EndpointConnectionError("secret")])
@pytest.mark.parametrize("each", [7, 8, 11])
@pytest.mark.parametrize("action", ["keep", "delete"])
def test_a_server_that_does_not_answer_is_asked_again(memory, monkeypatch, error, each, action):
    """FIL-08: nothing is lost or repeated, and the text of the error is not shown."""
    monkeypatch.setattr("eosfw_file.files.remote_file.BLOCK_BYTES", 7000)
    for name, lines in zip("ab", (LINES[:18000], LINES[18000:]), strict=False):
        write(memory, f"/in/{name}", lines)
    driven = start("memory://in", batch_size="100", after_commit=action, file_poll_interval_ms="1")
    Failing(memory, monkeypatch, error, each)
    values, failures = [], set()
    for _ in range(200):
        try:
            polled = driven.task.poll() or []
        except RetriableError as why:
            failures.add(str(why))
            continue
        for batch in polled if isinstance(polled, list) else [polled]:
            values += batch.values
        driven.task.at_end()
        driven.task.commit()

    assert sorted(values) == LINES.splitlines()
    assert failures
    assert failures <= {f"memory://in/{name} cannot be read now: {type(error).__name__}" for name in "ab"}
    assert memory.find("/in") == (["/in/a", "/in/b"] if action == "keep" else [])


class NoCredentialsError(Exception):
    """As botocore's."""


@pytest.mark.parametrize("error", [PermissionError("secret"), NoCredentialsError("secret")])
def test_what_does_not_pass_by_itself_fails_the_task(memory, monkeypatch, error):
    """FIL-08."""
    write(memory, "/a", LINES)
    driven = start("memory://a")
    Failing(memory, monkeypatch, error)

    with pytest.raises(ConfigError, match=r"memory://a .*credentials") as raised:
        driven.task.poll()
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("properties", "what"),
    [
        ({"file": "nosuch://a"}, "nosuch://a cannot be opened: Protocol not known: nosuch"),
        ({"file": "sftp://me:secret@host/a"}, "a URL has a password, which source offsets would show"),
        ({"file": "zip://a::sftp://me:secret@host/a"}, "a URL has a password"),
        ({"file": "http://[a/b"}, "there is a URL that is none"),
        ({"file": "zip://a::/nowhere/a.zip"}, "cannot be opened: there is no such file"),
        ({"file": "memory://a", "storage.options": '{"secret": 1}'}, None),
    ],
)
def test_urls_that_cannot_be_meant_are_refused(properties, what):
    """FIL-04: a secret is not shown."""
    config = FileSourceConnector.config.parse({"topic": "t", **properties})

    problems = [str(problem) for problem in FileSourceConnector().problems(config)]

    assert len(problems) == (what is not None)
    assert what is None or what in problems[0]
    assert "secret" not in str(problems)


@pytest.mark.parametrize("options", ["secret", "[1]", '{"secret": '])
def test_options_that_are_no_json_object_are_refused(options):
    """FIL-04."""
    with pytest.raises(ConfigError, match="expected a JSON object") as raised:
        FileSourceConnector.config.parse({"topic": "t", "file": "memory://a", "storage.options": options})
    assert "secret" not in str(raised.value)


def test_a_missing_library_is_named(monkeypatch):
    """FIL-04."""
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.startswith("fsspec"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr("importlib.import_module", without)
    config = FileSourceConnector.config.parse({"topic": "t", "file": "s3://bucket/a"})

    (problem,) = FileSourceConnector().problems(config)

    assert "pip install 'eosfw-file[fsspec]'" in str(problem)


def test_nothing_is_asked_of_a_server_before_the_start(monkeypatch):
    """FIL-08: `check` asks, which a run does not."""
    monkeypatch.setattr(MemoryFileSystem, "info", lambda *_: pytest.fail("asked"))
    config = FileSourceConnector.config.parse({"topic": "t", "file": "memory://a"})

    assert list(FileSourceConnector().problems(config)) == []


def test_a_server_that_does_not_answer_is_no_fault_of_the_properties(monkeypatch):
    """FIL-08: some file systems connect when they are made."""

    def refuse(*_, **__):
        raise ConnectionRefusedError

    monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    config = FileSourceConnector.config.parse({"topic": "t", "file": "ftp://host/a"})

    assert list(FileSourceConnector().problems(config)) == []


def test_a_missing_file_is_a_problem_of_the_check(memory):
    """FIL-04."""
    config = FileSourceConnector.config.parse({"topic": "t", "file": "memory://a"})

    (problem,) = FileSourceConnector().check(config)

    assert "there is no file memory://a" in str(problem)


@pytest.mark.parametrize("action", ["move", "delete"])
def test_files_are_moved_or_deleted_behind_their_commit(memory, action):
    """FIL-01: and one that comes back under its name is read."""
    folder = {"after_commit_folder": "memory://done"} if action == "move" else {}
    write(memory, "/in/a.txt", b"one\n")
    driven = start("memory://in", after_commit=action, file_poll_interval_ms="1", **folder)

    first, _ = committed_polls(driven)
    left = memory.find("/in")
    write(memory, "/in/a.txt", b"two\n")
    second, _ = committed_polls(driven)

    assert (first, left, second) == ([b"one"], [], [b"two"])
    assert memory.find("/in") == []
    assert memory.find("/done") == (["/done/a-1.txt", "/done/a.txt"] if action == "move" else [])


@pytest.mark.parametrize("action", ["move", "delete"])
def test_a_crash_between_commit_and_move_of_a_url_is_made_up_for(memory, action):
    """FIL-02."""
    folder = {"after_commit_folder": "memory://done"} if action == "move" else {}
    write(memory, "/in/a.txt", b"one\n")
    *_, end = start("memory://in", after_commit=action, **folder).task.poll()

    offsets = {"memory://in/a.txt": end.source_offset}
    values, _ = committed_polls(start("memory://in", offsets, after_commit=action, **folder))

    assert (values, memory.find("/in")) == ([], [])
