"""Converters, transformations and predicates answer as Kafka Connect's own classes do.

`golden/kafka_connect.json` has what those of Kafka Connect 4.1.1 answered (`golden/record_kafka_connect.py`).
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from eosfw.config.parts import Configurable, PartChoice
from eosfw.errors import ConfigError
from eosfw.records import ProducerBatch, SourceRecord
from eosfw.registry import Plugins, load_plugins

GOLDEN = Path(__file__).parent / "golden"
CASES = json.loads((GOLDEN / "cases.json").read_text(encoding="utf-8"))
ANSWERS = json.loads((GOLDEN / "kafka_connect.json").read_text(encoding="utf-8"))

STRICTER = {
    'InsertField$Value {"static.field": "s"}': "a field without value would be left out in silence",
    'InsertField$Key {"static.field": "s"}': "a field without value would be left out in silence",
    "InsertField$Value {}": "a transformation that does nothing",
    "InsertField$Key {}": "a transformation that does nothing",
}
"""What is refused, though Kafka Connect accepts it."""
UNSUPPORTED = {
    'RegexRouter {"regex": "[a-z&&[^x]]+-eu", "replacement": "y"}': "intersections of classes are Java's own",
}
"""What Kafka Connect accepts and this cannot."""


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return load_plugins()


def value(given: Any) -> Any:
    """The value of a case as the Java program reads it."""
    if isinstance(given, list):
        return [value(one) for one in given]
    if not isinstance(given, dict):
        return given
    match given:
        case {"$bytes": text}:
            return base64.b64decode(text)
        case {"$double": text}:
            return float(text)
        case {"$pairs": pairs}:
            return {value(key): value(one) for key, one in pairs}
    return {key: value(one) for key, one in given.items()}


def record(given: dict[str, Any]) -> SourceRecord:
    return SourceRecord(
        given["topic"],
        value(given.get("value")),
        value(given.get("key")),
        partition=given.get("partition"),
        timestamp=given.get("timestamp"),
        headers=tuple((name, b"x") for name in given.get("headers", ())),
    )


def configured(part: Any, case: dict[str, Any]) -> Any:
    assert isinstance(part, Configurable)
    return PartChoice("part", part.name, case["config"]).configured(part)


def answers(role: str) -> list[Any]:
    pairs = zip(CASES[role], ANSWERS[role], strict=True)
    return [pytest.param(case, answer, id=f"{number}-{shown(case)}") for number, (case, answer) in enumerate(pairs)]


def shown(case: dict[str, Any]) -> str:
    return f"{case['class'].rpartition('.')[2]} {json.dumps(case['config'])}"


@pytest.mark.parametrize(("case", "answer"), answers("converters"))
def test_a_converter_writes_the_bytes_of_kafka_connects(plugins, case, answer):
    if "error" in answer:
        with pytest.raises((TypeError, ValueError, ConfigError)):
            configured(plugins.converter(case["class"]), case).from_connect_data("topic", None, value(case["value"]))
        return
    converter = configured(plugins.converter(case["class"]), case)
    wanted = None if answer["bytes"] is None else base64.b64decode(answer["bytes"])

    assert converter.from_connect_data("topic", None, value(case["value"])) == wanted


@pytest.mark.parametrize(("case", "answer"), answers("transformations"))
def test_a_transformation_makes_what_kafka_connects_makes(plugins, case, answer):
    given = record(case["record"])
    if "error" in answer or shown(case) in STRICTER or shown(case) in UNSUPPORTED:
        with pytest.raises((TypeError, ValueError, ConfigError)):
            configured(plugins.transformation(case["class"]), case).apply(given)
        return
    made = configured(plugins.transformation(case["class"]), case).apply(given)

    assert (
        made is None if answer.get("dropped") else {"topic": made.topic, "key": made.key, "value": made.value} == answer
    )


@pytest.mark.parametrize(("case", "answer"), answers("transformations"))
def test_a_transformation_by_columns_makes_the_same(plugins, case, answer):
    try:
        transformation = configured(plugins.transformation(case["class"]), case)
    except ConfigError:
        return
    if not hasattr(transformation, "apply_batch"):
        return
    given = record(case["record"])
    stamps = None if given.timestamp is None else [given.timestamp] * 2
    keys = None if given.key is None else [given.key] * 2
    columns = ProducerBatch(given.topic, [given.value] * 2, keys, given.partition, stamps)
    if "error" in answer:
        with pytest.raises((TypeError, ValueError)):  # `apply` then says which record
            transformation.apply_batch(columns)
        return
    made = transformation.apply_batch(columns)

    if answer.get("dropped"):
        assert made is None
    else:
        first, second = made.records()
        assert first == second
        assert {"topic": first.topic, "key": first.key, "value": first.value} == answer


@pytest.mark.parametrize(("case", "answer"), answers("predicates"))
def test_a_predicate_chooses_what_kafka_connects_chooses(plugins, case, answer):
    predicate, given = configured(plugins.predicate(case["class"]), case), record(case["record"])
    by_columns = predicate.test_batch(ProducerBatch(given.topic, [given.value], headers=[given.headers]))

    assert predicate.test(given) is answer["chosen"]
    assert by_columns in (answer["chosen"], [answer["chosen"]])


def test_every_way_in_which_this_is_stricter_has_a_case():
    known = {shown(case) for case in CASES["transformations"]}

    assert known >= {*STRICTER, *UNSUPPORTED}
