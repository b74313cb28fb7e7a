"""Transformations and predicates answer as Kafka Connect's own classes do, with schemas and without.

`golden/transformations.jsonl` has what those of Kafka Connect 4.1.1 answered (`golden/record_transformations.py`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from eosfw.config.parts import PartChoice
from eosfw.data.columns import fitted_values
from eosfw.errors import ConfigError, DataError
from eosfw.records import ProducerBatch, SourceRecord
from eosfw.registry import Plugins, load_plugins
from kafka_connect.notation import comparable, read_record, shown_record

from .source_records import source_records

GOLDEN = Path(__file__).parent / "golden"
sys.path.insert(0, str(GOLDEN))

from transformation_cases import PACKAGE, questions  # noqa: E402 beside the answers

ANSWERS = [json.loads(line) for line in (GOLDEN / "transformations.jsonl").read_text(encoding="utf-8").splitlines()]
QUESTIONS = questions()
CASES = {
    name: [one for one in QUESTIONS if one["class"] == name]
    for name in dict.fromkeys(one["class"] for one in QUESTIONS)
}
NO_STRUCT = "Cannot list fields on non-struct type"
REFUSED_EARLIER = {
    'InsertField$Value {"offset.field": "o"}': "offset.field is for sink connectors: a source record has no offset yet",
    'RegexRouter {"regex": "(.*)", "replacement": "$2"}': "Invalid value $2 for the replacement of a topic: No group 2",
    'InsertField$Key {"offset.field": "o"}': "offset.field is for sink connectors: a source record has no offset yet",
    'RegexRouter {"regex": "orders-eu", "replacement": "$1"}': (
        "Invalid value $1 for the replacement of a topic: No group 1"
    ),
    'RegexRouter {"regex": "orders-eu", "replacement": "${a}"}': (
        "Invalid value ${a} for the replacement of a topic: No group with name {a}"
    ),
    'TimestampRouter {"timestamp.format": "Q"}': (
        "Illegal pattern character 'Q'; there are: y, M, d, D, E, u, H, k, h, K, a, m, s, S, z, Z, X"
    ),
    'TimestampRouter {"timestamp.format": "yyyy\'x"}': "Unterminated quote",
    'ExtractField$Value {"field": "", "field.syntax.version": "v2"}': "String must be non-empty",
    'ExtractField$Key {"field": "", "field.syntax.version": "v2"}': "String must be non-empty",
}
"""What Kafka Connect's class finds out with the first record at the earliest, and this one when it is configured."""
UNSUPPORTED = {
    'RegexRouter {"regex": "[a-z&&[^x]]+-eu", "replacement": "y"}': (
        "Invalid regular expression: Possible set intersection at position 4"
    ),
}
"""What Kafka Connect accepts and this cannot: intersections of classes are Java's own."""
REFUSED = {**REFUSED_EARLIER, **UNSUPPORTED}
OTHER_WORDS = (
    (r"Invalid type found in casting spec: ", "Must specify at least one field to cast"),
    (r"No field insertion configured", r"No field insertion configured: InsertField\$(Value|Key) needs one of .*"),
    (r"No value specified for static field: .*", r"No value specified for static field: static.field needs .*"),
    (r"String must be one of \(case insensitive\): V1, V2", "String must be one of: V1, V2"),
    (r"Cannot invoke .*Field\.schema\(\).*", "Field does not exist: .*"),
    (r"Invalid regex: Unclosed group near index 1\n\(", "Invalid regular expression: missing .*"),
    (r"(TimestampConverter requires a SimpleDateFormat-compatible pattern.*): .*", "TimestampConverter requires .*"),
)
"""Messages of Kafka Connect and those that stand for them here."""
CLASSES = {
    "java.lang.String": "str",
    "java.lang.Boolean": "bool",
    **dict.fromkeys(("java.lang.Byte", "java.lang.Short", "java.lang.Integer", "java.lang.Long"), "int"),
    **dict.fromkeys(("java.lang.Float", "java.lang.Double"), "float"),
    "java.math.BigDecimal": "Decimal",
    "java.util.Date": "datetime",
    "java.util.ArrayList": "list",
    **dict.fromkeys(("java.util.LinkedHashMap", "java.util.HashMap"), "dict"),
    "[B": "bytes",
}
SHORTENED = (
    (r"^Invalid value .* for configuration (?:[a-z.]+: )?", ""),
    (r"(?:class )?(java\.[\w.]+|\[B)", lambda found: CLASSES.get(found[1], found[1])),
    (r"[vV]alue (?:\(.*\) )?(was out|does not match)", r"\1"),
    (r"^field '[^']+': ", ""),
    (r'configuration "part\.', 'configuration "'),
    (r"\.$", ""),
)


def shortened(message: str | None) -> str:
    """What a message says, without values and without the names of classes of Java."""
    text = message or ""
    for pattern, meant in SHORTENED:
        text = re.sub(pattern, meant, text, flags=re.DOTALL)  # type: ignore[call-overload]
    return text


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return load_plugins()


def shown(question: Mapping[str, Any]) -> str:
    return f"{question['class'].rpartition('.')[2]} {json.dumps(question['properties'])}"


def configured(plugins: Plugins, question: Mapping[str, Any]) -> Any:
    find = plugins.predicate if question["operation"] == "predicate" else plugins.transformation
    part = find(question["class"])
    return PartChoice("part", part.name, question["properties"]).configured(part)


def answer(plugins: Plugins, question: Mapping[str, Any]) -> dict[str, Any]:
    """What is answered here, to compare with `java_answer`."""
    try:
        part = configured(plugins, question)
    except ConfigError as why:
        return {"error": shortened(str(why).removeprefix("part: ")), "at": "configure"}
    record = read_record(question["record"])
    try:
        if question["operation"] == "predicate":
            return {"chosen": part.test(record)}
        made = part.apply(record)
    except DataError as why:
        return {"error": shortened(str(why)), "at": "apply"}
    return {"record": None if made is None else comparable(shown_record(made))}


def java_answer(question: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in given:
        return {"error": shortened(given["message"]), "at": given["at"]}
    if given.get("record") is None:
        return dict(given)
    record = {"topic": "topic", **question["record"], **given["record"]}
    return {"record": comparable({name: one for name, one in record.items() if one is not None})}


def agree(question: Mapping[str, Any], here: Mapping[str, Any], java: Mapping[str, Any]) -> bool:
    if here == java:
        return True
    if shown(question) in REFUSED:
        return here == {"error": shortened(REFUSED[shown(question)]), "at": "configure"}
    if "SetSchemaMetadata" in question["class"] and java.get("error") == NO_STRUCT:
        return "record" in here  # Kafka Connect takes structs alone, though any schema has a name
    if "error" not in here or here.get("at") != java.get("at"):
        return False
    return any(
        re.fullmatch(theirs, java["error"]) and re.fullmatch(ours, here["error"]) for theirs, ours in OTHER_WORDS
    )


def differences(plugins: Plugins, name: str) -> list[Any]:
    pairs = [pair for pair in zip(QUESTIONS, ANSWERS, strict=True) if pair[0]["class"] == name]
    compared = [(asked, answer(plugins, asked), java_answer(asked, given)) for asked, given in pairs]
    return [(asked, here, java) for asked, here, java in compared if not agree(asked, here, java)]


@pytest.mark.parametrize("name", sorted(CASES), ids=lambda name: name.removeprefix(PACKAGE))
def test_a_class_answers_every_question_as_kafka_connects_does(plugins, name):
    """SMT-01, SMT-02, SMT-03."""
    assert differences(plugins, name) == []


def batches(record: SourceRecord) -> list[ProducerBatch]:
    """The record twice, in each way in which a batch holds columns."""
    one = ProducerBatch.of_one(record, record.key_schema, record.value_schema)
    twice = ProducerBatch(
        one.topic,
        list(one.values) * 2,
        None if one.keys is None else list(one.keys) * 2,
        one.partition,
        None if one.timestamps is None else list(one.timestamps) * 2,
        None if one.headers is None else list(one.headers) * 2,
        one.key_schema,
        one.value_schema,
    )
    by_columns = ProducerBatch(
        one.topic,
        fitted_values(record.value_schema, twice.values) if record.value_schema is not None else twice.values,
        fitted_values(record.key_schema, twice.keys) if record.key_schema is not None and twice.keys else twice.keys,
        one.partition,
        twice.timestamps,
        twice.headers,
        one.key_schema,
        one.value_schema,
    )
    return [twice, by_columns]


@pytest.mark.parametrize("name", sorted(CASES), ids=lambda name: name.removeprefix(PACKAGE))
def test_a_class_makes_of_a_batch_what_it_makes_of_each_record(plugins, name):
    """SMT-04."""
    for question in CASES[name]:
        try:
            part = configured(plugins, question)
        except ConfigError:
            continue
        record = read_record(question["record"])
        if question["operation"] == "predicate":
            chosen = part.test(record)
            assert all(part.test_batch(one) in (chosen, [chosen, chosen]) for one in batches(record))
            continue
        for batch in batches(record):
            compare_batch(part, record, batch)


def compare_batch(part: Any, record: SourceRecord, batch: ProducerBatch) -> None:
    try:
        made = part.apply_batch(batch)
    except DataError:
        return  # then `apply` is asked for each record
    expected = part.apply(record)
    if expected is None:
        assert made is None
    else:
        expected = comparable(shown_record(expected))
        assert [comparable(shown_record(one)) for one in source_records(made)] == [expected, expected]


def test_every_difference_from_kafka_connect_has_a_question():
    assert {shown(question) for question in QUESTIONS} >= set(REFUSED)
    messages = [shortened(one["message"]) for one in ANSWERS if "error" in one]
    for pattern, _ in OTHER_WORDS:
        assert any(re.fullmatch(pattern, one) for one in messages), pattern
