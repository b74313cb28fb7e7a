"""A broken plugin is named with its distribution; all others keep working."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from eosfw import ConfigDef, SourceConnector, SourceTask, hookimpl
from eosfw.builtin.fencer import AdminFencer
from eosfw.concurrency import Spawned, ThreadRuntime
from eosfw.errors import PluginError
from eosfw.registry import Plugins, load_plugins


@dataclass(frozen=True)
class Dist:
    name: str
    version: str = "1.0"


@dataclass(frozen=True)
class InstalledEntryPoint:
    """An entry point that loads what it is told to."""

    name: str
    dist: Dist
    load: Callable[[], Any]


class _Task(SourceTask):
    def poll(self) -> None:
        return None


class Counter(SourceConnector):
    name, task, config = "counter", _Task, ConfigDef()

    def task_configs(self, config: Any, max_tasks: int) -> list[dict[str, str]]:
        return []


class Watcher:
    name = "watcher"

    def observe(self, event: Any) -> None:
        pass


def module(**hooks: Callable[[], Any]) -> ModuleType:
    made = ModuleType("a_plugin")
    for name, function in hooks.items():
        function.__name__ = name
        setattr(made, name, hookimpl(function))
    return made


def entry_point(owner: str, **hooks: Callable[[], Any]) -> InstalledEntryPoint:
    return InstalledEntryPoint("entry", Dist(owner), lambda: module(**hooks))


def good() -> InstalledEntryPoint:
    return entry_point("good", eosfw_connectors=lambda: [Counter])


def only_failure(plugins: Plugins) -> tuple[str, str]:
    (failure,) = plugins.failures
    return failure.distribution, failure.reason


def raising(error: BaseException) -> Callable[[], Any]:
    def load() -> Any:
        raise error

    return load


@pytest.mark.parametrize(
    "error",
    [ImportError("no module named 'left_pad'"), SystemExit(3), SyntaxError("bad"), GeneratorExit(), MemoryError()],
    ids=lambda error: type(error).__name__,
)
def test_a_plugin_that_cannot_be_imported_is_named_and_the_others_work(error: BaseException) -> None:
    plugins = load_plugins([InstalledEntryPoint("entry", Dist("broken"), raising(error)), good()])

    assert only_failure(plugins)[0] == "broken"
    assert type(error).__name__ in only_failure(plugins)[1]
    assert isinstance(plugins.connector("counter"), Counter)


def test_an_error_of_a_plugins_own_code_is_shown_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its author reads nothing but this line: there is no traceback to look at."""
    (tmp_path / "a_broken_plugin.py").write_text("import json\njson.nothing\n")
    (tmp_path / "a_plugin_with_a_typo.py").write_text("def broken(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = ("a_broken_plugin", "a_plugin_with_a_typo", "a_missing_plugin")
    broken = [InstalledEntryPoint("entry", Dist(name), partial(import_module, name)) for name in names]

    reasons = [failure.reason for failure in load_plugins(broken).failures]

    assert reasons == [
        f"AttributeError: module 'json' has no attribute 'nothing' (in <module>, {tmp_path}/a_broken_plugin.py:2)",
        "SyntaxError: invalid syntax (a_plugin_with_a_typo.py, line 1)",
        "ModuleNotFoundError: No module named 'a_missing_plugin'",
    ]


class Joined:
    """A thread whose end, or whose hanging, is waited for, however long the timeout."""

    def __init__(self, thread: Spawned, settled: threading.Event) -> None:
        self.name, self.is_alive = thread.name, thread.is_alive
        self._settled = settled

    def join(self, timeout: float | None = None) -> bool:
        self._settled.wait()
        return not self.is_alive()


class Settling(ThreadRuntime):
    """Keeps a busy machine from making a plugin late that does not hang."""

    def spawn(self, name: str, target: Callable[[], None]) -> Spawned:
        self._settled = settled = threading.Event()

        def run() -> None:
            target()
            settled.set()

        return Joined(super().spawn(name, run), settled)

    def hang(self, over: threading.Event) -> None:
        """Called by what the newest thread runs."""
        self._settled.set()
        over.wait(60)


@pytest.mark.parametrize("where", ["import", "hook"])
def test_a_plugin_that_hangs_is_named_and_left_alone(where: str) -> None:
    """Whether it is imported or asked; the others work, the command goes on."""
    hanging, runtime = threading.Event(), Settling()
    hang: Callable[[], Any] = lambda: runtime.hang(hanging)  # noqa: E731
    slow = (
        InstalledEntryPoint("entry", Dist("slow"), hang)
        if where == "import"
        else entry_point("slow", eosfw_connectors=hang)
    )

    plugins = load_plugins([slow, good()], timeout=0.05, runtime=runtime)

    assert only_failure(plugins) == ("slow", "it did not answer within 0.05 s; what hangs there is left alone")
    assert isinstance(plugins.connector("counter"), Counter)
    hanging.set()


def test_a_plugin_of_another_version_of_the_interface_is_named() -> None:
    """Its hooks may mean something else, so none of them is called."""
    made = module(eosfw_connectors=lambda: [Counter])
    made.eosfw_api = 7  # type: ignore[attr-defined]
    plugins = load_plugins([InstalledEntryPoint("entry", Dist("future"), lambda: made), good()])

    owner, reason = only_failure(plugins)
    assert owner == "future"
    assert "version 7 of the plugin interface; this eosfw has 1" in reason
    assert plugins.names("connector") == ("counter",)


def test_ctrl_c_while_plugins_load_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        load_plugins([InstalledEntryPoint("entry", Dist("slow"), raising(KeyboardInterrupt()))])


def test_a_misspelt_hook_suggests_the_nearest_and_others_still_work() -> None:
    plugins = load_plugins([entry_point("mine", eosfw_conectors=lambda: [Counter], eosfw_observers=lambda: [Watcher])])

    assert only_failure(plugins) == ("mine", "there is no hook 'eosfw_conectors'; did you mean 'eosfw_connectors'?")
    assert [observer.name for observer in plugins.observers()] == ["watcher"]


@pytest.mark.parametrize(
    ("hook", "reason"),
    [
        (lambda config: [config], "config"),
        (raising(ValueError("not today")), "ValueError: not today"),
        (lambda: Counter, "eosfw_connectors returned a type; it must return a list of classes"),
        (lambda: None, "eosfw_connectors returned a NoneType; it must return a list of classes"),
    ],
    ids=["an unknown argument", "an error", "no list", "nothing"],
)
def test_a_hook_that_does_not_return_a_list_is_a_failure_of_its_plugin_alone(
    hook: Callable[..., Any], reason: str
) -> None:
    plugins = load_plugins([entry_point("moody", eosfw_connectors=hook), good()])

    assert only_failure(plugins)[0] == "moody"
    assert reason in only_failure(plugins)[1]
    assert plugins.names("connector") == ("counter",)


class NoClose:
    """A backend without `close`."""

    name = "half"

    @classmethod
    def connect(cls, properties: Any, runtime: Any) -> Any: ...

    def producer(self, transactional_id: Any) -> Any: ...

    reader = producer
    admin = "not a method"


def test_a_class_that_breaks_its_protocol_is_refused_naming_the_gap() -> None:
    plugins = load_plugins([entry_point("half", eosfw_backends=lambda: [NoClose])])

    reason = only_failure(plugins)[1]
    assert "backend NoClose does not keep Backend" in reason
    assert "`close()` is missing" in reason
    assert "`admin` is not a method" in reason
    assert "`capabilities` is missing" in reason


class Untold(AdminFencer):
    """A fencer that takes properties without declaring them."""

    name = "untold"

    def configure(self, config: Any) -> None: ...


def test_a_part_without_property_definitions_is_refused() -> None:
    """It would never get any."""
    plugins = load_plugins([entry_point("half", eosfw_fencers=lambda: [Untold])])

    reason = only_failure(plugins)[1]
    assert "fencer Untold does not keep Fencer: it has `configure()`, but `config` is not a ConfigDef" in reason
    assert plugins.names("fencer") == ()


class NameOnly(SourceConnector):
    name = "name-only"


async def awaited(self: Any) -> None:
    """A method as a client with coroutines suggests it."""


@pytest.mark.parametrize(
    ("connector", "reason"),
    [
        (Counter(), "is not a class"),
        (type("Nameless", (SourceConnector,), {}), "has no `name`"),
        (type("Foreign", (), {"name": "foreign"}), "it is not a subclass"),
        (NameOnly, "`task_configs()` is missing"),
        (NameOnly, "`task` is not a subclass of SourceTask"),
        (NameOnly, "`config` is not a ConfigDef"),
        (type("Unpolled", (Counter,), {"task": type("Still", (SourceTask,), {})}), "`Still.poll()` is missing"),
        (
            type("Awaited", (Counter,), {"task": type("Slow", (Counter.task,), {"at_end": awaited})}),
            "does not keep SourceConnector: `Slow.at_end()` is `async def`, and nobody awaits it: write `def`",
        ),
        (type("Asked", (Counter,), {"watch": awaited}), "`Asked.watch()` is `async def`"),
    ],
)
def test_a_class_that_is_no_connector_is_refused_with_a_reason(connector: Any, reason: str) -> None:
    plugins = load_plugins([entry_point("odd", eosfw_connectors=lambda: [connector])])

    assert reason in only_failure(plugins)[1]


def twin() -> type[Counter]:
    return type("Twin", (Counter,), {})


def test_two_classes_of_one_name_are_refused_by_naming_both_distributions() -> None:
    plugins = load_plugins(
        [good(), entry_point("rival", eosfw_connectors=lambda: [twin()], eosfw_observers=lambda: [Watcher])]
    )

    with pytest.raises(PluginError, match=r"'counter' is offered by good 1\.0 and rival 1\.0|rival 1\.0 and good 1\.0"):
        plugins.connector("counter")
    assert len(plugins.clashes()) == 1
    assert plugins.observers()


def test_one_class_offered_twice_is_no_clash() -> None:
    plugins = load_plugins([good(), entry_point("again", eosfw_connectors=lambda: [Counter])])

    assert plugins.connector("counter")
    assert plugins.clashes() == []


@pytest.mark.parametrize("spelling", ["counter", "Counter", f"{Counter.__module__}:Counter"])
def test_a_connector_is_found_by_name_class_or_place(spelling: str) -> None:
    assert isinstance(load_plugins([good()]).connector(spelling), Counter)


@pytest.mark.parametrize(
    "spelling", ["antigravity:Fly", "antigravity.Fly", "os:system", "subprocess.Popen", "os:_exit"]
)
def test_a_module_that_no_plugin_registered_is_neither_imported_nor_called(spelling: str) -> None:
    """A dotted path is a name to look up, never an instruction."""
    plugins = load_plugins([good()])
    with pytest.raises(PluginError, match="no connector"):
        plugins.connector("nobody")  # imports what reads the metadata of distributions
    before = set(sys.modules)

    with pytest.raises(PluginError, match="no connector"):
        plugins.connector(spelling)

    assert "antigravity" not in sys.modules
    assert set(sys.modules) - before == set()


def test_an_unknown_name_suggests_the_nearest_and_lists_broken_plugins() -> None:
    plugins = load_plugins([good(), InstalledEntryPoint("entry", Dist("broken"), raising(ImportError("no kio")))])

    with pytest.raises(
        PluginError, match=r"no connector 'countr'; installed: counter\. Did you mean 'counter'\?"
    ) as reported:
        plugins.connector("countr")
    assert "Not working: broken (entry): ImportError: no kio" in str(reported.value)


def test_a_missing_plugin_comes_with_the_line_that_installs_it() -> None:
    with pytest.raises(PluginError, match="installed: none") as reported:
        load_plugins([]).step_engine("spark")
    assert "pip install 'eosfw[spark]'" in str(reported.value)


@pytest.mark.parametrize("name", ["avro", "io.confluent.connect.avro.AvroConverter"])
def test_a_converter_of_a_distribution_of_ours_comes_with_the_line_that_installs_it(name: str) -> None:
    with pytest.raises(PluginError, match=r"Try: pip install 'eosfw-schema-registry\[avro\]'"):
        load_plugins([]).converter(name)


@pytest.mark.parametrize(
    "name", ["flink", "somewhere:Flink", "org.apache.kafka.connect.file.FileStreamSourceConnector"]
)
def test_no_install_command_names_a_foreign_distribution(name: str) -> None:
    with pytest.raises(PluginError, match="install the distribution that brings it; `eosfw plugins` lists") as reported:
        load_plugins([]).connector(name)
    assert "pip" not in str(reported.value)


@pytest.mark.parametrize(("role", "extra"), [("cluster", "memory"), ("step_engine", "spark")])
def test_without_any_plugin_a_role_names_the_line_that_installs_one(role: str, extra: str) -> None:
    with pytest.raises(PluginError, match=rf"no .* is installed. Try: pip install 'eosfw\[{extra}\]'.$"):
        getattr(load_plugins([]), role)()


class Rude(SourceConnector):
    name, task, config = "rude", _Task, ConfigDef()

    def __init__(self) -> None:
        raise RuntimeError("go away")

    def task_configs(self, config: Any, max_tasks: int) -> list[dict[str, str]]:
        return []


def test_a_connector_that_cannot_be_made_names_its_distribution() -> None:
    with pytest.raises(PluginError, match=r"rude.*of mine.*go away"):
        load_plugins([entry_point("mine", eosfw_connectors=lambda: [Rude])]).connector("rude")


def test_built_in_parts_register_by_the_same_entry_points() -> None:
    rows = {(row.role, row.name, row.distribution) for row in load_plugins().all()}

    assert ("offset store", "kafka", "eosfw") in rows
    assert ("isolation reader", "read_committed", "eosfw") in rows
