"""The table of Kafka Connect's Java API is complete, and what it names is there."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "reference" / "connect_api_page.py"))

JAVA = {"source.SourceTask": ["poll", "stop"]}
FOUND = {"*": {}, "source.SourceTask": {"class": "eosfw:SourceTask", "poll": "eosfw:SourceTask.poll", "stop": "- none"}}


def test_every_class_and_method_of_kafka_connect_has_an_answer_that_exists() -> None:
    """PLG-29: nothing of the recorded list is missing, and a name that is removed or renamed here is noticed."""
    assert list(TABLE["problems"](TABLE["java"](), TABLE["answers"]())) == []
    assert len(TABLE["java"]()) > 50


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"poll": "eosfw:SourceTask.pull"}, "source.SourceTask#poll: there is no eosfw:SourceTask.pull"),
        ({"poll": "eosfw:Nobody.pull"}, "source.SourceTask#poll: there is no eosfw:Nobody.pull"),
        ({"poll": "eosfw.nowhere:pull"}, "source.SourceTask#poll: there is no eosfw.nowhere:pull"),
        ({"poll": "somewhere"}, "source.SourceTask#poll: there is no somewhere"),
        ({"poll": ""}, "nothing is said of source.SourceTask#poll"),
        ({"class": ""}, "nothing is said of source.SourceTask#class"),
        ({"pull": "- none"}, "source.SourceTask has no member pull"),
    ],
)
def test_a_gap_or_a_wrong_name_is_found(changes: dict[str, str], problem: str) -> None:
    """PLG-29: a test that cannot fail shows nothing."""
    given = {**FOUND, "source.SourceTask": {**FOUND["source.SourceTask"], **changes}}

    assert list(TABLE["problems"](JAVA, FOUND)) == []
    assert list(TABLE["problems"](JAVA, given)) == [problem]
    assert list(TABLE["problems"](JAVA, {**FOUND, "source.Nothing": {}})) == [
        "source.Nothing is no class of Kafka Connect"
    ]
