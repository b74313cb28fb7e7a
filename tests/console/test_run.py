"""The console beside a run shows it, as it shows a group, and changes nothing (UIC-11)."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.observe import Gates, TaskStep
from eosfw.pipeline import ClusterChoice, LocalRun, Pipeline, RunConsole
from eosfw.registry import Plugins, load_plugins

from .browser import PATIENCE, Browser

ANYWHERE = "127.0.0.1:0"
LINES = {"connector.class": "file", "file": "a.txt", "topic": "lines"}


class Run:
    """A run of lines of a file, with its console and gates."""

    def __init__(self, folder: Path, undo: ExitStack, **properties: str) -> None:
        runtime, plugins = ThreadRuntime(), load_plugins()
        (folder / "a.txt").write_text("".join(f"{number}\n" for number in range(50)))
        lines = LINES | {"file": str(folder / "a.txt"), "batch.size": "5"}
        worker = {
            "group.id": "shop",
            "exactly.once.source.support": "enabled",
            "task.shutdown.graceful.timeout.ms": "100",
            **{name.replace("_", "."): value for name, value in properties.items()},
        }
        pipeline = Pipeline(folder / "shop.toml", ClusterChoice("memory", {}), worker, {"lines": lines})
        self.gates, self._runtime = Gates(runtime), runtime
        console = RunConsole.open(ANYWHERE, plugins, runtime)
        self.local = undo.enter_context(LocalRun(pipeline, plugins, runtime, observers=[self.gates], console=console))
        undo.enter_context(self.gates)
        self.browser = Browser(console.url.removesuffix("/ui"))
        self.local.worker.start()

    def until(self, happened: Callable[[], object]) -> None:
        deadline = self._runtime.now() + PATIENCE
        while not happened():
            assert self._runtime.now() < deadline, self.local.worker.status()
            self._runtime.sleep(0.01)

    def page(self, path: str) -> str:
        answer = self.browser.get(path)
        assert answer.status == 200, answer.text
        return answer.text


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with ExitStack() as undo:
        yield Run(tmp_path, undo)


def test_a_zombie_of_a_run_is_seen_open_then_fenced(run: Run) -> None:
    gate = run.gates.freeze(TaskStep.SEND_OFFSETS)
    run.local.put_connectors()
    run.until(gate.reached.is_set)
    open_one = run.page("/ui/transactions")
    assert "shop-lines-0" in open_one
    assert "task 0 of" in open_one

    run.local.put_connectors()
    run.until(lambda: run.local.history.records == 50)
    gate.open()
    run.until(run.local.history.zombies)

    # A page waits for the steps of a worker for a second, which a busy machine may take.
    run.until(lambda: "1 zombie fenced" in run.page("/ui/timeline.svg"))
    run.until(lambda: "task 0, generation 0 on" in (page := run.page("/ui/timeline")) and "replaced it" in page)


def test_each_page_of_a_run_shows_it_and_none_changes_it(run: Run) -> None:
    """Also once its tasks have ended, as they have when a demo waits for whoever looks at it."""
    run.local.put_connectors()
    run.until(lambda: run.local.history.records == 50)
    assert "It runs, with 1 task." in run.page("/ui/connectors/lines")
    run.local.worker.stop()

    assert "This is the run of shop.toml" in run.page("/ui")
    connector = run.page("/ui/connectors/lines")
    assert "Its tasks have ended with the run" in connector
    run.until(lambda: "<dd>50</dd>" in run.page("/ui/connectors/lines"))
    offsets = run.page("/ui/connectors/lines/offsets")
    assert "a.txt" in offsets
    assert "changes no offsets" in offsets
    assert "<code>lines</code>" in connector
    for page in (connector, offsets, run.page("/ui/connectors/lines/config"), run.page("/ui/transactions")):
        assert "<button" not in page
    assert run.browser.submit("/ui/connectors/lines/actions", action="stop").status == 403
    refused = run.browser.submit("/connectors/lines/restart", {"Content-Type": "application/json"})
    assert (refused.status, "its connectors come from its file" in refused.text) == (400, True)


def test_topics_of_tasks_in_other_processes_are_shown(tmp_path: Path) -> None:
    """KIP-558: `/connectors/NAME/topics` does not tell where a task runs."""
    with ExitStack() as undo:
        run = Run(tmp_path, undo, task_isolation="process")
        run.local.put_connectors()
        run.until(lambda: run.local.history.records == 50)

        run.until(lambda: "<code>lines</code>" in run.page("/ui/connectors/lines"))
        assert run.page("/connectors/lines/topics") == '{"lines":{"topics":["lines"]}}'


def test_a_console_that_is_not_installed_names_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"^--console: .* pip install 'eosfw\[console\]'$"):
        RunConsole.open(ANYWHERE, Plugins((), ()), ThreadRuntime())


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "example.org"])
def test_a_console_of_a_run_listens_to_loopback_alone(host: str) -> None:
    with pytest.raises(ConfigError, match=r"^--console: .* is not loopback"):
        RunConsole.open(f"{host}:8083", load_plugins(), ThreadRuntime())


def test_an_address_without_a_port_is_refused_with_how_to_write_it() -> None:
    with pytest.raises(ConfigError, match=r"^--console: 'foo' is not written HOST:PORT$"):
        RunConsole.open("foo", load_plugins(), ThreadRuntime())


def test_a_port_that_is_taken_is_a_problem_of_the_option() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=rf"^--console: .*{address} cannot be opened"):
            RunConsole.open(address, load_plugins(), ThreadRuntime())
