from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pytest
from tests.rest.conftest import LOOPBACK
from tests.rest.in_memory_herder import WORKER, InMemoryHerder

from eosfw.concurrency import ThreadRuntime
from eosfw.config import Boolean, ConfigDef, Int, Password, String
from eosfw.config.parts import PartChoice
from eosfw.config.worker import WORKER as WORKER_CONFIG
from eosfw.errors import Problem
from eosfw.protocols.herder import (
    ConfigInfos,
    ConnectorOffset,
    ConnectorState,
    ConnectorStateInfo,
    CreatedConnector,
)
from eosfw.runtime.distributed.config_infos import config_infos, config_key_infos
from eosfw_console.extension import Console
from eosfw_rest.server import ConnectRestServer

from .browser import Browser

DEFINITION = ConfigDef(
    String("name", doc="Of the connector.", group="Common"),
    String("connector.class", doc="Its plugin.", group="Common"),
    String("file", doc="What to <read>.", group="Source", display_name="File", recommended=lambda _: ["x", '"><y']),
    String("topic", doc="Where to write.", group="Common"),
    Boolean("follow", default=False, doc="Whether to wait for more.", group="Source"),
    Int("batch.size", default=500, doc="How many records.", group="Common"),
    String("query", default="", doc="What to ask.", group="Source"),
    Password("connection.password", default=None, doc="Of the source.", group="Source"),
)


class OperableHerder(InMemoryHerder):
    """Its connectors can be paused and stopped, their offsets changed, and their properties defined."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []
        self.states: dict[str, str] = {}
        """Of connectors that do not run."""
        self.patches: list[dict[str, str | None]] = []
        self.problems: Callable[[Mapping[str, str]], list[Problem]] = lambda _: []
        """What is wrong with properties."""

    def pause_connector(self, name: str) -> None:
        self.before("pause_connector")
        self._find(name)
        self.done.append(f"pause {name}")

    def connector_status(self, name: str) -> ConnectorStateInfo:
        shown = super().connector_status(name)
        return replace(shown, connector=ConnectorState(self.states.get(name, "RUNNING"), WORKER))

    def connector_offsets(self, name: str) -> Sequence[ConnectorOffset]:
        return list(self._find(name).offsets)

    def alter_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        self.done.append(f"alter offsets of {name}")
        changed = {json.dumps(one.partition): one for one in [*self._find(name).offsets, *offsets]}
        return super().alter_offsets(name, [one for one in changed.values() if one.offset is not None])

    def reset_offsets(self, name: str) -> str:
        self.done.append(f"reset offsets of {name}")
        return super().reset_offsets(name)

    def patch_connector(self, name: str, changes: Mapping[str, str | None]) -> CreatedConnector:
        self.before("patch_connector")
        stored = self._find(name)
        stored.config = {key: value for key, value in {**stored.config, **changes}.items() if value is not None}
        self.patches.append(dict(changes))
        return CreatedConnector(created=False, info=self.connector_info(name))

    def validate(self, plugin: str, config: Mapping[str, str | None]) -> ConfigInfos:
        given = {name: value for name, value in config.items() if value is not None}
        return config_infos(plugin, DEFINITION, given, self.problems(given))

    def plugin_config(self, plugin: str) -> list[dict[str, object]]:
        return config_key_infos(DEFINITION)


@pytest.fixture
def herder() -> OperableHerder:
    return OperableHerder()


@pytest.fixture
def servers() -> Iterator[list[ConnectRestServer]]:
    """The REST interfaces that were started."""
    started: list[ConnectRestServer] = []
    yield started
    for server in started:
        server.close()


@pytest.fixture
def opened(herder: OperableHerder, servers: list[ConnectRestServer]) -> Callable[..., Browser]:
    """Open a worker's console, with properties of the worker and `read_only` of the console."""

    def start(read_only: str = "false", **properties: str) -> Browser:
        given = {"group.id": "rest", "listeners": LOOPBACK} | properties
        server = ConnectRestServer.start((WORKER_CONFIG + ConnectRestServer.config).parse(given), ThreadRuntime())
        servers.append(server)
        choice = PartChoice("rest.extension.classes.console", "console", {"read.only": read_only})
        server.serve(herder, [choice.configured(Console())])
        return Browser(server.url)

    return start


@pytest.fixture
def browser(opened: Callable[..., Browser]) -> Browser:
    return opened()
