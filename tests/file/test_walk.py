"""A pattern is expanded in bounded time, whatever links and devices lie below it."""

from __future__ import annotations

import os
import sys

import pytest

from eosfw.errors import DamagedDataError
from eosfw_file import FileSourceConnector
from eosfw_file.files import bounded_glob
from eosfw_file.files.discovery import find

from .task_harness import start, task_properties


def names(folder, pattern) -> list[str]:
    return [path.removeprefix(f"{folder}/") for path in find(f"{folder}/{pattern}").paths]


def problems(file) -> list[str]:
    config = FileSourceConnector.config.parse({"file": str(file), "topic": "lines"})
    return [str(problem) for problem in FileSourceConnector().problems(config)]


@pytest.fixture
def folder(tmp_path):
    for name in ("top.csv", "a/one.csv", "a/deep/two.csv", "b/three.csv", ".hidden/four.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x\n")
    return tmp_path


def test_folders_that_link_to_each_other_are_walked_once(folder):
    """Twelve folders, each linked from all others: by way of the links there are more paths than can be walked."""
    every = [folder / "ring" / str(number) for number in range(12)]
    for one in every:
        one.mkdir(parents=True)
        (one / "file.csv").write_bytes(b"x\n")
    for one in every:
        for other in every:
            (one / f"to-{other.name}").symlink_to(other)

    assert names(folder, "ring/**/*.csv") == sorted(f"ring/{one.name}/file.csv" for one in every)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a/**/*.csv", ["a/deep/two.csv", "a/one.csv"]),
        ("a/*/*.csv", ["a/deep/two.csv"]),
        ("*/one.csv", ["a/one.csv"]),
    ],
)
def test_broken_links_are_skipped(folder, pattern, found):
    """One leads to itself: the system answers with an error of its own."""
    (folder / "a" / "itself").symlink_to(folder / "a" / "itself")
    (folder / "a" / "gone").symlink_to(folder / "nowhere")

    assert names(folder, pattern) == found
    assert problems(f"{folder}/{pattern}") == []


def test_a_folder_with_a_link_to_itself_gives_its_files(folder):
    """The link is no file that could be read."""
    (folder / "a" / "itself").symlink_to(folder / "a" / "itself")

    assert names(folder, "a") == ["a/one.csv"]


def test_a_link_to_a_folder_elsewhere_is_followed(folder):
    """Its files have no other name below the pattern."""
    (folder / "b" / "link").symlink_to(folder / "a")

    assert names(folder, "b/**/*.csv") == ["b/link/deep/two.csv", "b/link/one.csv", "b/three.csv"]
    assert names(folder, "**/*.csv") == ["a/deep/two.csv", "a/one.csv", "b/three.csv", "top.csv"]


@pytest.mark.parametrize(
    "pattern",
    ["*.csv", "*/*.csv", "**", "**/*.csv", "a/**/*.csv", "[ab]/*.csv", "a/deep/t?o.csv", "**/deep/*", ".h*/*"],
)
def test_patterns_mean_what_python_means_by_them(folder, pattern):
    """Without links to folders, what is found is what `glob` finds."""
    from glob import glob

    expected = sorted(path for path in glob(f"{folder}/{pattern}", recursive=True) if not os.path.isdir(path))

    assert [f"{folder}/{name}" for name in names(folder, pattern)] == expected


def test_a_pattern_over_too_many_names_is_refused(folder, monkeypatch):
    """A pattern over the whole disk is a mistake; the message says what to do."""
    monkeypatch.setattr(bounded_glob, "MAX_NAMES", 5)

    (problem,) = problems(f"{folder}/**/*.csv")

    assert "more than 5 names" in problem
    assert "name a folder further down" in problem


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and /sys are Linux's")
@pytest.mark.parametrize("file", ["/proc/kmsg", "/proc/*info", "/sys/kernel/fscaps", "/sys/**"])
def test_files_of_virtual_file_systems_are_refused(file):
    """They are regular by name only: reading /proc/kmsg waits for ever, and /sys has circles of links."""
    found = problems(file)

    assert found
    assert all("the kernel" in problem for problem in found)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused_even_by_a_task_that_was_given_it(device, tmp_path):
    """The file that was checked may be another one by the time that its task opens it."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"one\n")
    (shares,) = task_properties(file)
    driven = start(file)
    assert shares
    file.unlink()
    file.symlink_to(device)

    with pytest.raises(DamagedDataError, match="is not a regular file"):
        start_at(driven, file)


def test_a_pipe_instead_of_a_file_fails_the_task_without_waiting(tmp_path):
    """Opening a pipe without a writer blocks for ever."""
    file = tmp_path / "lines.txt"
    file.write_bytes(b"one\n")
    driven = start(file)
    file.unlink()
    os.mkfifo(file)

    with pytest.raises(DamagedDataError, match="is not a regular file"):
        start_at(driven, file)


def start_at(driven, file) -> None:
    """Start the task once more, as with the configuration it was given when the file was one."""
    again = type(driven.task)()
    again.start(type(again).config.parse({"task.files": f'["{file}"]', "topic": "lines"}), driven.context)
