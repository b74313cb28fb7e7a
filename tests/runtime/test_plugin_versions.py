"""A configuration may ask for versions of plugins; the one that is installed fits, or is refused (KIP-891)."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

import pytest

from eosfw.config.worker import WORKER
from eosfw.registry import Plugins, load_plugins
from eosfw.runtime.checks.preflight import connector_problems, worker_problems

FILE, EOSFW = version("eosfw-file"), version("eosfw")
CONNECTOR = {"connector.class": "file", "file": __file__, "topic": "t"}
TRANSFORMED = {
    "transforms": "a",
    "transforms.a.type": "Filter",
    "transforms.a.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "RecordIsTombstone",
}


@cache
def plugins() -> Plugins:
    return load_plugins()


def problems(worker: dict[str, str] | None = None, **properties: str) -> list[str]:
    """What is wrong with a connector of this environment."""
    config = WORKER.parse({"group.id": "g", **(worker or {})})
    given = CONNECTOR | TRANSFORMED | properties
    return [one.what for one in connector_problems(plugins(), config, "c", given, lambda *_: [])]


def refusal(name: str, plugin: str, installed: str, wanted: str) -> str:
    """Kafka Connect's text about a plugin on its class path."""
    return f"{name}: Plugin {plugin} has version {installed} which does not match the required version range {wanted}"


@pytest.mark.parametrize("wanted", [FILE, f"[{FILE}]", f"[{FILE},)", "latest", "(,999)"])
def test_an_installed_version_that_fits_is_taken(wanted: str) -> None:
    """TPC-11."""
    assert problems(**{"connector.plugin.version": wanted}) == []


@pytest.mark.parametrize(
    ("properties", "plugin", "installed"),
    [
        ({"connector.plugin.version": "[999,)"}, "file", FILE),
        ({"value.converter": "json", "value.converter.plugin.version": "[999,)"}, "json", EOSFW),
        ({"transforms.a.plugin.version": "[999,)"}, "Filter", EOSFW),
        ({"predicates.p.plugin.version": "[999,)"}, "RecordIsTombstone", EOSFW),
    ],
)
def test_another_version_is_refused(properties: dict[str, str], plugin: str, installed: str) -> None:
    """TPC-11: of a connector, a converter, a transformation, a predicate; a version is no property of the part."""
    [name] = [name for name in properties if name.endswith("plugin.version")]

    assert problems(**properties) == [refusal(name, plugin, installed, "[999,)")]
    assert problems(**properties | {name: "(,999)"}) == []


def test_a_version_alone_is_that_version() -> None:
    """TPC-11: as in Kafka Connect, which takes Maven's soft requirement for a hard one."""
    found = problems(**{"connector.plugin.version": "999"})

    assert found == [refusal("connector.plugin.version", "file", FILE, "[999]")]


@pytest.mark.parametrize(
    ("name", "more"),
    [("connector.plugin.version", {}), ("key.converter.plugin.version", {"key.converter": "json"})],
)
def test_what_is_no_range_is_refused(name: str, more: dict[str, str]) -> None:
    """TPC-11."""
    assert problems(**more, **{name: "[1.0"}) == [f"Invalid value [1.0 for configuration {name}: Unbounded range: [1.0"]


def test_a_version_of_no_converter_is_refused() -> None:
    """TPC-11: of the worker's converter the worker asks for a version."""
    assert "say key.converter, too" in problems(**{"key.converter.plugin.version": EOSFW})[0]
    config = WORKER.parse({"group.id": "g", "key.converter.plugin.version": EOSFW})
    [found] = worker_problems(plugins(), config, "memory", lambda *_: [])
    assert found.what == "key.converter.plugin.version is for a converter: say key.converter, too"


def test_a_worker_may_ask_for_a_version_of_its_converter() -> None:
    """TPC-11."""
    given = {"group.id": "g", "value.converter": "json", "value.converter.plugin.version": "999"}
    [found] = worker_problems(plugins(), WORKER.parse(given), "memory", lambda *_: [])

    assert found.what == refusal("value.converter.plugin.version", "json", EOSFW, "[999]")
