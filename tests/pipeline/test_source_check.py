"""`check` of connectors reports before a run whether their sources can be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from eosfw import ConfigDef, SourceConnector, SourceTask, String
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, Problem, RetriableError, SourceUnavailableError
from eosfw.pipeline import Pipeline, check
from eosfw.pipeline.definition.source_check import check_sources, require_sources
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

WRONG = "topic: the table 'orders' has no column 'id'; name another one"


class Asked(SourceConnector):
    """Returns the check result that its property `source` names."""

    name, task = "asked", SourceTask
    config = ConfigDef(String("topic"), String("source"))
    release = ThreadRuntime().event()

    def check(self, config: Any) -> Iterable[Problem]:
        match config["source"]:
            case "wrong":
                return [Problem("topic", WRONG.partition(": ")[2])]
            case "down":
                raise RetriableError("db.example:5432 refused the connection")
            case "falls":
                raise KeyError("dsn")
            case "nothing":
                return None  # type: ignore[return-value]
            case "hangs":
                self.release.wait(60)
        return ()


@pytest.fixture
def asked(pipeline: Callable[..., Pipeline], plugins: Plugins) -> Callable[..., tuple[Pipeline, Plugins]]:
    known = Plugins((*plugins._found, RegisteredPlugin("connector", Asked, PluginSource("test", "1", "test"))), ())
    return lambda source: (pipeline(connector_class="asked", source=source), known)


@pytest.mark.parametrize(
    ("source", "error", "what"),
    [
        ("wrong", ConfigError, rf"flow.toml \[connectors.c\]: {WRONG}"),
        ("down", SourceUnavailableError, r"connectors.c.*db.example:5432 refused the connection"),
        ("falls", ConfigError, r"connectors.c.*the connector failed when it looked at its source: KeyError: 'dsn'"),
        ("nothing", ConfigError, r"connectors.c.*`check` returned a NoneType; it must return a list of .*Problem"),
    ],
)
def test_a_sources_check_result_is_reported_with_its_connector(asked, source, error, what) -> None:
    """A permanent problem is a configuration error; a transient one is not."""
    with pytest.raises(error, match=what):
        require_sources(*asked(source), ThreadRuntime())


def test_a_source_that_answers_well_has_no_problem(asked) -> None:
    (answer,) = check_sources(*asked("yes"), ThreadRuntime())

    assert (answer.connector, answer.problems, answer.unavailable) == ("c", (), False)
    require_sources(*asked("yes"), ThreadRuntime())


def test_a_connector_that_offers_no_check_is_not_asked(pipeline, plugins) -> None:
    """The report does not claim that the source was reached."""
    assert SourceConnector().check(None) == ()  # type: ignore[arg-type]
    assert check_sources(pipeline(), plugins, ThreadRuntime()) == []


def test_a_source_that_does_not_answer_in_time_is_left(asked) -> None:
    try:
        (answer,) = check_sources(*asked("hangs"), ThreadRuntime(), timeout=0.2)
    finally:
        Asked.release.set()

    assert answer.unavailable
    assert "did not answer within 0.2 s" in answer.problems[0]


def test_checking_the_file_alone_contacts_no_source(asked) -> None:
    """A run does so itself, by its tasks."""
    check(*asked("down"), ThreadRuntime())
