"""`eosfw run` with streaming steps in a process of its own: interrupted while it follows, then run again."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from eosfw.concurrency import ThreadRuntime

FLOW = """
verify = "off"
[cluster]
backend = "confluent"
"bootstrap.servers" = "{servers}"
[worker]
"group.id" = "{name}"
[connectors.lines]
"connector.class" = "file"
file = "lines.txt"
topic = "{name}"

[[steps]]
name = "keep"
inputs.words = "{name}-upper"
sql = "SELECT CAST(value AS STRING) AS word FROM words"
output = "out"
trigger = "available-now"

[[steps]]
name = "shout"
inputs.words = "{name}"
sql = "SELECT upper(CAST(value AS STRING)) AS value FROM words"
output.topic = "{name}-upper"
trigger = "1 second"
checkpoint = "shouting"
"""


class Folder:
    """A pipeline file, its source and its output."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *words: str) -> None:
        with (self.path / "lines.txt").open("a") as file:
            file.writelines(f"{word}\n" for word in words)

    def words(self) -> Counter[str]:
        """What a reader of the output sees: the files that Spark's log of them names."""
        logs = sorted((self.path / "out" / "_spark_metadata").glob("[0-9]*"))
        entries = [json.loads(line) for log in logs for line in log.read_text().splitlines()[1:]]
        files = sorted({entry["path"].removeprefix("file://") for entry in entries})
        return Counter(dataset.dataset(files).to_table()["word"].to_pylist() if files else [])

    def begin(self, *options: str) -> subprocess.Popen[str]:
        code = "import sys; from eosfw.cli import main; main(sys.argv[1:])"
        command = [sys.executable, "-c", code, "run", "--json", *options, str(self.path / "flow.toml")]
        with (self.path / "stderr").open("a") as err:
            return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True)

    def log(self) -> str:
        return (self.path / "stderr").read_text(errors="replace")


@pytest.fixture
def folder(java: None, history: Any, fresh: Callable[[str], str], tmp_path: Path) -> Folder:
    (tmp_path / "flow.toml").write_text(FLOW.format(servers=history.servers, name=fresh("follow")))
    return Folder(tmp_path)


@pytest.fixture
def follow(folder: Folder) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []

    def begin() -> subprocess.Popen[str]:
        begun.append(folder.begin("--follow"))
        return begun[-1]

    yield begin
    for process in begun:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()


def until(happened: Callable[[], object], process: subprocess.Popen[str], folder: Folder) -> None:
    runtime = ThreadRuntime()
    deadline = runtime.now() + 240
    while not happened():
        if process.poll() is not None or runtime.now() > deadline:
            pytest.fail(f"rc {process.poll()}, {folder.words()}\n{folder.log()}")
        runtime.sleep(0.2)


@pytest.mark.nightly
def test_a_followed_pipeline_goes_on_after_an_interrupt_without_loss_or_repeat(folder: Folder, follow: Any) -> None:
    """A connector, a step from its topic to another one exactly once, a step from there to files."""
    folder.add("a", "b")
    running = follow()
    until(lambda: len(folder.words()) == 2, running, folder)
    folder.add("c")
    until(lambda: len(folder.words()) == 3, running, folder)

    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=120)

    assert running.returncode == 130, folder.log()
    summary = json.loads(out)
    assert summary["error"]["exit_code"] == 130
    assert {step: one["rows"] for step, one in summary["streaming"].items()} == {"shout": 3, "keep": 3}
    assert "Traceback" not in folder.log()

    folder.add("d")
    again = folder.begin()
    out, _ = again.communicate(timeout=240)

    assert again.returncode == 0, folder.log()
    assert {step: one["rows"] for step, one in json.loads(out)["steps"].items()} == {"shout": 1, "keep": 1}
    assert folder.words() == Counter("ABCD")
