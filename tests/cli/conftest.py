"""Run the command line, in a process of its own where a test sends signals or looks on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.invocation import Ended, invoke
from tests.cli.rest_worker import RestWorker

from eosfw.cli.parsing import command_plugins
from eosfw.concurrency import ThreadRuntime
from installation import install

DOORS = """[eosfw]
testkit = testkit
broken = testkit_that_is_not_there
[eosfw.commands]
greet = testkit:command
unloadable = testkit_that_is_not_there:command
"""
RECORDS = 5_000
"""Minutes of a slow task, which no test waits for."""
ENDLESS = f"records = {RECORDS}"


@dataclass
class Running:
    """A command under way, its output in files."""

    process: subprocess.Popen[bytes]
    folder: Path

    def out(self) -> str:
        return (self.folder / "stdout").read_text()

    def err(self) -> str:
        # A client's own log lines, in C, may hold any bytes.
        return (self.folder / "stderr").read_text(errors="backslashreplace")

    def until(self, happened: Callable[[], object], timeout: float = 90.0) -> None:
        """Wait until a condition holds, or fail with all output."""
        runtime = ThreadRuntime()
        deadline = runtime.now() + timeout
        while True:
            # Asked before the look: it may say what is waited for, and end.
            is_last = self.process.poll() is not None or runtime.now() > deadline
            if happened():
                return
            if is_last:
                pytest.fail(f"rc {self.process.poll()}\n{self.out()}\n{self.err()}")
            runtime.sleep(0.02)

    def polled(self) -> int:
        """How many records a slow task was asked for; each was dealt with when the next one is."""
        return self.err().count("a record was polled")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = 120.0) -> int:
        return self.process.wait(timeout)


Start = Callable[..., Running]


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """The folder in which the test kit is installed."""
    return install(tmp_path / "site", "testkit", DOORS, "9.9", module=Path(__file__).with_name("testkit.py"))


@pytest.fixture
def start(tmp_path: Path, kit: Path) -> Iterator[Start]:
    """Start `eosfw ARGUMENTS`, with the test kit installed; whatever still runs afterwards is killed."""
    begun: list[Running] = []

    def begin(*arguments: object, env: Mapping[str, str] | None = None) -> Running:
        folder = tmp_path / f"run{len(begun)}"
        folder.mkdir()
        environment = os.environ | {"PYTHONPATH": str(kit), "PYTHONWARNINGS": "ignore", **(env or {})}
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            code = "from eosfw_command import main; main()"  # as the installed script, whose second Ctrl-C is quiet
            process = subprocess.Popen(
                [sys.executable, "-c", code, *map(str, arguments)],
                stdout=out,
                stderr=err,
                env=environment,
                cwd=tmp_path,
            )
        begun.append(Running(process, folder))
        return begun[-1]

    yield begin
    for one in begun:
        with suppress(ProcessLookupError):
            one.process.kill()
        one.process.wait()


@dataclass(frozen=True)
class Finished:
    """A command that has ended; it answers as Running does."""

    ended: Ended

    def out(self) -> str:
        return self.ended.stdout

    def err(self) -> str:
        return self.ended.stderr

    def end(self) -> int:
        return self.ended.returncode


@pytest.fixture
def command(tmp_path: Path, kit: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Finished]]:
    """Run `eosfw ARGUMENTS` to its end in this process, with the test kit installed; not for tasks that never end."""
    with in_this_process(kit, monkeypatch) as run:
        monkeypatch.chdir(tmp_path)
        yield run
    sys.modules.pop("testkit", None)


@contextmanager
def in_this_process(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Finished]]:
    """Run `eosfw ARGUMENTS` to its end in this process, with what is installed in a folder."""
    monkeypatch.syspath_prepend(site)
    _forget_commands()
    yield lambda *arguments: Finished(invoke(*map(str, arguments)))
    _forget_commands()


@pytest.fixture
def pipeline(tmp_path: Path) -> Callable[..., Path]:
    """Write a pipeline file: one connector of the test kit unless told otherwise."""

    def write(
        kind: str = "counting",
        *,
        cluster: str = "",
        more: str = "",
        steps: str = "",
        group: str = "g",
        topic: str = "t",
        graceful_ms: int = 60_000,
    ) -> Path:
        path = tmp_path / "pipeline.toml"
        path.write_text(
            f"""engine = "plain"
[cluster]
backend = "confluent"
{cluster}
[worker]
"group.id" = "{group}"
"task.shutdown.graceful.timeout.ms" = {graceful_ms}
[connectors.c]
"connector.class" = "{kind}"
topic = "{topic}"
{more}
{steps}
"""
        )
        return path

    return write


def _forget_commands() -> None:
    """A process looks for its commands once, since what is installed does not change meanwhile."""
    command_plugins.command_entry_points.cache_clear()
    command_plugins.load_command.cache_clear()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> Iterator[RestWorker]:
    """A worker's REST interface that answers from a table; commands find it without `--url`."""
    served = RestWorker()
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    monkeypatch.setenv("EOSFW_REST_URL", served.url)
    yield served
    served.shutdown()
    thread.join()
    served.server_close()
