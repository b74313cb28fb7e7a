"""A connector that a test hands over as a class is checked as an installed one is."""

from __future__ import annotations

from typing import Any

import pytest
from tests.pytest_eos.broken_sources import GeneratedShares
from tests.pytest_eos.counter import CounterConnector

from eosfw.connectors import SourceConnector
from eosfw.errors import PluginError


class WithoutConfig(SourceConnector):
    name = "without-config"
    task = CounterConnector.task

    def task_configs(self, config, max_tasks):
        return [{}]


class WithoutName(CounterConnector):
    name = ""


@pytest.mark.parametrize(
    ("connector", "message"),
    [
        (WithoutConfig, "connector WithoutConfig does not keep SourceConnector: `config` is not a ConfigDef"),
        (WithoutName, "connector WithoutName has no `name`"),
        (CounterConnector.task, "connector CounterTask has no `name`"),
        (CounterConnector(), r"connector: <.*CounterConnector object at .*> is not a class"),
    ],
)
def test_what_is_no_connector_is_refused_by_what_it_lacks(eos, connector: Any, message: str) -> None:
    with pytest.raises(PluginError, match=f"^{message}$"):
        eos.run(connector)


@pytest.mark.eos_zombie(at="commit")
def test_a_zombie_is_made_of_a_connector_that_gives_its_shares_one_by_one(eos):
    run = eos.run(GeneratedShares)

    eos.assert_exactly_once(run, run.source_records())
