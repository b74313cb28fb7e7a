"""Properties choose parts; properties with their prefix go to the chosen part."""

from __future__ import annotations

import pytest

from eosfw.builtin.fencer import AdminFencer
from eosfw.builtin.isolation import ReadCommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.config import Config, ConfigDef, Int, String
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.parts import FENCER, ISOLATION_READER, OFFSET_STORE, Configurable, PartChoice, chosen
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError, Problem
from eosfw.registry import Plugins, parts
from eosfw.registry.lookup import PluginSource, RegisteredPlugin
from eosfw.registry.record_parts import RecordParts


class Sealed(KafkaOffsetStore):
    """A store with a required property."""

    name = "sealed"
    config = ConfigDef(String("key", doc="a secret"), Int("rounds", 1))

    def configure(self, config: Config) -> None:
        if config["key"] == "weak":
            raise ConfigError(Problem("", "offset.store.key: too weak"))
        self.reported = config


class Falling(Sealed):
    """A store that fails when it is configured."""

    name = "falling"

    def configure(self, config: Config) -> None:
        raise RuntimeError("no")


class Picky(ReadCommitted):
    """A reader that refuses its properties."""

    name = "picky"
    config = ConfigDef(String("field"))
    closed = 0

    def __init__(self, *_: object) -> None:
        pass

    @classmethod
    def over(cls, *_: object, headers: bool = False) -> Picky:
        return cls()

    def configure(self, config: Config) -> None:
        raise ConfigError(Problem("", "no such field"))

    def close(self) -> None:
        Picky.closed += 1


class OfBackend(AdminFencer):
    """A fencer that is named like a backend."""

    name = "own"


OFFERED = {
    "offset store": [KafkaOffsetStore, Sealed, Falling],
    "fencer": [AdminFencer, OfBackend],
    "isolation reader": [ReadCommitted, Picky],
}
PLUGINS = Plugins(
    (RegisteredPlugin(role, one, PluginSource("d", "1", "e")) for role, kinds in OFFERED.items() for one in kinds), ()
)
SEALED = {"offset.store": "sealed", "offset.store.key": "secret"}


def worker(**properties: str) -> Config:
    return WORKER.parse({"group.id": "g", **properties})


def connector(**properties: str) -> Config:
    return SOURCE_CONNECTOR.parse({"name": "c", "connector.class": "file", **properties})


def test_the_defaults_are_those_of_kafka_connect():
    """OFF-01, FEN-06."""
    assert type(parts.offset_store(PLUGINS, chosen(OFFSET_STORE, worker(), connector()))) is KafkaOffsetStore
    assert PLUGINS.fencer("confluent", chosen(FENCER, worker(), connector()).name) is AdminFencer
    assert PLUGINS.fencer("own", chosen(FENCER, worker(), connector()).name) is OfBackend
    assert PLUGINS.isolation_reader(chosen(ISOLATION_READER, worker()).name or "") is ReadCommitted


def test_a_chosen_store_gets_the_properties_behind_its_name():
    """As converters of Kafka Connect do; values are parsed, defaults filled in."""
    store = parts.offset_store(PLUGINS, chosen(OFFSET_STORE, worker(**SEALED), connector()))

    assert isinstance(store, Sealed)
    assert isinstance(store, Configurable)
    assert dict(store.reported) == {"key": "secret", "rounds": 1}


def test_a_connectors_choice_overrides_the_worker_without_its_properties():
    """Properties of the worker's store, secrets included, do not reach another store."""
    own = connector(**{"offset.store": "sealed", "offset.store.rounds": "3", "offset.store.key": "own"})
    given = chosen(OFFSET_STORE, worker(**SEALED), own)

    assert (given.name, given.properties) == ("sealed", {"rounds": "3", "key": "own"})
    assert chosen(OFFSET_STORE, worker(**SEALED), connector(**{"offset.store": "kafka"})).properties == {}


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        (
            {"offset.store": "seald"},
            "offset.store: no offset store 'seald'; installed: falling, kafka, sealed. Did you mean 'sealed'?",
        ),
        ({"offset.store": "sealed"}, 'Missing required configuration "offset.store.key"'),
        (
            {**SEALED, "offset.store.round": "2"},
            "unknown configuration 'offset.store.round'; did you mean 'offset.store.rounds'?",
        ),
        ({**SEALED, "offset.store.rounds": "many"}, "Invalid value many for configuration offset.store.rounds"),
        ({**SEALED, "offset.store.key": "weak"}, "offset.store.key: too weak"),
        ({**SEALED, "offset.store": "falling"}, "offset.store: it failed when it was configured: RuntimeError: no"),
        (
            {"offset.store.topic": "t"},
            "unknown configuration 'offset.store.topic': offset store 'kafka' takes no properties",
        ),
        ({"fencer": "admn"}, "fencer: no fencer 'admn'; installed: admin, own. Did you mean 'admin'?"),
        ({"fencer.topic": "t"}, "unknown configuration 'fencer.topic': fencer 'own' takes no properties"),
        ({"isolation.reader": "pickey"}, "Did you mean 'picky'?"),
        ({"isolation.reader": "picky"}, 'Missing required configuration "isolation.reader.field"'),
    ],
    ids=str,
)
def test_an_unusable_part_is_reported_before_anything_starts(properties: dict[str, str], message: str):
    """One sentence each."""
    (problem,) = parts.worker_problems(PLUGINS, worker(**properties), "own")

    assert message in problem.what


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"offset.store": "seald", "offset.store.key": "x"}, "Did you mean 'sealed'?"),
        (
            {"offset.store.key": "x"},
            "offset.store.key is for a part that the connector chooses itself: say offset.store, too",
        ),
        ({"fencer": "admn"}, "Did you mean 'admin'?"),
    ],
    ids=str,
)
def test_a_connectors_own_choice_is_judged_with_the_connector(properties: dict[str, str], message: str):
    """What the worker chose is told once, with the worker."""
    (problem,) = parts.connector_problems(PLUGINS, worker(fencer="also-wrong"), connector(**properties))

    assert message in problem.what


def test_a_reader_that_refuses_its_properties_is_closed_again():
    """Nothing stays open of what could not be used."""
    choice = PartChoice(ISOLATION_READER, "picky", {"field": "x"})

    with pytest.raises(ConfigError, match="no such field"):
        parts.isolation_reader(PLUGINS, choice, None, None)  # type: ignore[arg-type]

    assert Picky.closed == 1


def test_a_part_of_a_task_that_cannot_be_closed_keeps_no_other_open() -> None:
    """A task may start anew for years, and each time it would leave a connection open."""
    closed: list[str] = []

    class Converting:
        name = "made"

        def __init__(self, where: str) -> None:
            self.where = where

        def from_connect_data(self, topic: str, schema: object, value: object) -> bytes:
            raise NotImplementedError

        def close(self) -> None:
            closed.append(self.where)
            if self.where == "key":
                raise OSError("no answer")

    with pytest.raises(OSError, match="no answer"):
        RecordParts(key_converter=Converting("key"), value_converter=Converting("value")).close()

    assert closed == ["key", "value"]
