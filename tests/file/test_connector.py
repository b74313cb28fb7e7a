"""Which files a connector reads, and how they split over tasks."""

from __future__ import annotations

import json
import os

import pytest

from eosfw.config import Config
from eosfw.connectors import ConnectorTransactionBoundaries, ExactlyOnceSupport
from eosfw.errors import ConfigError
from eosfw_file import FileSourceConnector

from .task_harness import start, task_properties


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a.csv", "c.txt", ".hidden", "with,comma.log"):
        (tmp_path / name).write_bytes(f"{name}\n".encode())
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "d.csv").write_bytes(b"d.csv\n")
    return tmp_path


def config(file, **properties: str) -> Config:
    return FileSourceConnector.config.parse({"file": str(file), "topic": "lines", **properties})


def files(file, max_tasks: int = 1) -> list[list[str]]:
    return [json.loads(share["task.files"]) for share in task_properties(file, max_tasks)]


def problems(file) -> list[str]:
    return [str(problem) for problem in FileSourceConnector().problems(config(file))]


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("a.csv", ["a.csv"]),
        ("*.csv", ["a.csv", "b.csv"]),
        ("**/*.csv", ["a.csv", "b.csv", "inner/d.csv"]),
        ("", ["a.csv", "b.csv", "c.txt", "with,comma.log"]),
        ("with,comma.log", ["with,comma.log"]),
        ("c.txt, {folder}/*.csv,{folder}/a.csv", ["c.txt", "a.csv", "b.csv"]),
    ],
)
def test_file_may_be_a_path_a_glob_a_folder_or_several(folder, file, names):
    """Each file once, by its absolute path, in a stable order."""
    assert files(f"{folder}/{file.format(folder=folder)}") == [[f"{folder}/{name}" for name in names]]


def test_a_relative_path_is_meant_from_the_working_directory(folder, monkeypatch):
    """Source partitions hold absolute paths, so another directory is another source."""
    monkeypatch.chdir(folder)

    assert files("a.csv") == [[f"{folder}/a.csv"]]


def test_a_symbolic_link_keeps_its_own_name(folder):
    """The name of the link is the source partition; its target may lie anywhere."""
    (folder / "link").symlink_to(folder / "inner" / "d.csv")

    (batch,) = start(folder / "link").polls()

    assert batch.source_partition == {"filename": f"{folder}/link"}


@pytest.mark.parametrize("max_tasks", [1, 2, 3, 4, 9])
def test_each_file_belongs_to_exactly_one_task(folder, max_tasks):
    """KIP-618 holds only if no source partition has two writers; there is no task without files."""
    shares = files(folder, max_tasks)

    assert len(shares) == min(max_tasks, 4)
    assert sorted(path for share in shares for path in share) == files(folder)[0]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_one_file_under_two_names_is_refused(folder, link):
    """Two paths with one id would give every line twice."""
    link(folder / "a.csv", folder / "z.csv")

    (problem,) = problems(folder)

    assert problem.startswith(f"file: {folder}/a.csv and {folder}/z.csv are one file")


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ("missing.txt", "there is no file"),
        ("*.none", "no file matches"),
        ("a.csv,missing.txt", "there is no file 'missing.txt'"),
        ("empty", "holds no files"),
        ("pipe", "not a regular file"),
        ("broken", "cannot look at"),
    ],
)
def test_an_unreadable_file_is_reported_before_the_start(folder, file, what, monkeypatch):
    """Preflight names the file and the remedy; starting in spite of it fails alike."""
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    (folder / "broken").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "pipe")

    (problem,) = problems(file)

    assert what in problem
    with pytest.raises(ConfigError, match=what):
        files(file)


def test_a_name_that_is_not_utf_8_is_a_problem(folder):
    """No source offset can hold it, so that its task could commit nothing."""
    with open(os.fsencode(folder) + b"/\xff.log", "wb"):
        (problem,) = problems(folder)

    assert problem.startswith(f"file: '{folder}/\\udcff.log' has a name that is not UTF-8")


def test_every_problem_is_reported_at_once(folder):
    """A user mends them in one go."""
    assert len(problems(f"{folder}/x,{folder}/y,{folder}/a.csv")) == 2


def test_a_file_that_may_not_be_read_is_a_problem(folder, monkeypatch):
    """Permissions are asked for before the first task starts."""
    monkeypatch.setattr(os, "access", lambda path, _mode: not path.endswith("a.csv"))

    (problem,) = problems(folder)

    assert "a.csv may not be read by this user" in problem


def test_it_supports_exactly_once_and_leaves_boundaries_to_the_framework(folder):
    """CFG-04 and CFG-05 ask both."""
    connector, reported = FileSourceConnector(), config(folder)

    assert connector.exactly_once_support(reported) is ExactlyOnceSupport.SUPPORTED
    assert connector.transaction_boundaries(reported) is ConnectorTransactionBoundaries.UNSUPPORTED


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("batch.size", "0", "at least 1"),
        ("format", "cvs", "did you mean csv"),
        ("delimiter", ";;", "one ASCII character"),
        ("delimiter", '"', "one ASCII character"),
        ("incomplete.last.line", "drop", "wait, emit"),
        ("batch_size", "5", "did you mean 'batch.size'"),
    ],
)
def test_a_wrong_property_is_explained(folder, name, value, what):
    """Errors name the key and what it takes."""
    with pytest.raises(ConfigError, match=what):
        config(folder, **{name: value})
