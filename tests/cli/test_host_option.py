"""The options that say where tasks run."""

from __future__ import annotations

import pytest
import typer

from eosfw.cli.run.host_option import host_choice
from eosfw.errors import Problem
from eosfw.pipeline import ClusterChoice, Pipeline
from eosfw.pipeline.local.hosting import HostChoice, host_problems
from eosfw.protocols import TaskHostSettings
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin


def test_without_an_engine_tasks_run_in_this_process():
    assert host_choice(None, None, ()) is None


def test_settings_of_spark_may_hold_equals_signs():
    found = host_choice("spark", "yarn", ["spark.executor.extraJavaOptions=-Da=b"])
    assert found == HostChoice("spark", TaskHostSettings("yarn", {"spark.executor.extraJavaOptions": "-Da=b"}))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((None, "yarn", ()), "--engine spark: add it"),
        ((None, None, ["a=b"]), "add it"),
        (("spark", None, ["a"]), "'a'"),
    ],
)
def test_options_that_mean_nothing_are_refused(arguments, text):
    with pytest.raises(typer.BadParameter, match=text):
        host_choice(*arguments)


class StepsOnly:
    name = "steps-only"


def problems(engine: str, tmp_path) -> list[Problem]:
    known = RegisteredPlugin("step engine", StepsOnly, PluginSource("acme", "1", "acme"))
    pipeline = Pipeline(tmp_path / "p.toml", ClusterChoice(), {})
    return host_problems(Plugins([known], []), HostChoice(engine), pipeline)


def test_an_engine_that_is_not_installed_or_hosts_nothing_is_named(tmp_path):
    (missing,) = problems("spark", tmp_path)
    assert "no step engine 'spark'; installed: steps-only" in missing.what
    (other,) = problems("steps-only", tmp_path)
    assert "runs steps alone" in other.what
