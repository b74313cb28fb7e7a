"""A class that a plugin only describes is imported when somebody chooses it, and never before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eosfw.errors import PluginError
from eosfw.hookspecs import PluginDesc
from eosfw.registry import Plugins, load_plugins

from .test_loading import Counter, entry_point, good

MODULE = """
from eosfw import ConfigDef, SourceConnector, SourceTask

class Task(SourceTask):
    def poll(self):
        return None

class Connector(SourceConnector):
    name, aliases, task, config = "acme", ("AcmeSource",), Task, ConfigDef()

    def task_configs(self, config, max_tasks):
        return []

class Unsplit(SourceConnector):
    name, task, config = "unsplit", Task, ConfigDef()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module with a connector, not imported yet."""
    (tmp_path / "acme_source.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "acme_source", raising=False)
    return "acme_source"


def describing(*described: PluginDesc) -> Plugins:
    return load_plugins([entry_point("acme", eosfw_connectors=lambda: list(described)), good()])


@pytest.mark.parametrize("chosen", ["acme", "Connector", "acme_source:Connector", "AcmeSource"])
def test_a_described_class_is_imported_once_it_is_chosen(module: str, chosen: str) -> None:
    plugins = describing(PluginDesc(f"{module}:Connector", "acme", ("AcmeSource",)))

    assert plugins.names("connector") == ("acme", "counter")
    assert plugins.clashes() == []
    assert isinstance(plugins.connector("counter"), Counter)
    assert module not in sys.modules
    assert type(plugins.connector(chosen)) is sys.modules[module].Connector
    assert plugins.version_of(sys.modules[module].Connector) == "1.0"


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (PluginDesc("no_such_module:Connector", "acme"), "ModuleNotFoundError: No module named 'no_such_module'"),
        (PluginDesc("acme_source:Missing", "acme"), "AttributeError: module 'acme_source' has no attribute 'Missing'"),
        (
            PluginDesc("acme_source:Unsplit", "unsplit"),
            "connector Unsplit does not keep SourceConnector: `task_configs()` is missing",
        ),
        (
            PluginDesc("acme_source:Connector", "other", ("AcmeSource",)),
            "its `name` is 'acme', but its PluginDesc says 'other': write the same in both places",
        ),
        (
            PluginDesc("acme_source:Connector", "acme"),
            "its `aliases` is ('AcmeSource',), but its PluginDesc says (): write the same in both places",
        ),
    ],
    ids=["no module", "no class", "broken contract", "other name", "other aliases"],
)
def test_a_described_class_that_does_not_load_is_named_and_the_others_work(
    module: str, described: PluginDesc, reason: str
) -> None:
    plugins = describing(described)

    with pytest.raises(PluginError) as refused:
        plugins.connector(described.name)
    assert str(refused.value) == f"connector {described.name!r} of acme does not load: {reason}"
    assert plugins.failures == ()
    (failure,) = plugins.imported().failures
    assert (failure.distribution, failure.reason) == ("acme", str(refused.value))
    assert plugins.imported().names("connector") == ("counter",)
