"""Converters write and read what Kafka Connect's own classes do.

`golden/converters.jsonl` has what those of Kafka Connect 4.1.1 answered (`golden/record_converters.py`).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from builtin.golden.converter_cases import SIMPLE, questions
from eosfw.config.parts import PartChoice
from eosfw.errors import DataError
from eosfw.registry import Plugins, load_plugins
from kafka_connect.notation import comparable, read_schema, read_value, shown_schema, shown_value

ANSWERS = Path(__file__).parent / "golden" / "converters.jsonl"
ASKED = [
    (question, json.loads(line))
    for question, line in zip(questions(), ANSWERS.read_text(encoding="utf-8").splitlines(), strict=True)
]
OTHER_WORDS = {
    "Invalid bytes for Decimal field": "Invalid Decimal schema: scale parameter not found.",
}
"""What Kafka Connect says, and what is said here, where that says more."""


@cache
def plugins() -> Plugins:
    return load_plugins()


def converter(name: str, properties: Mapping[str, str]) -> Any:
    made = plugins().header_converter(name) if name == SIMPLE else plugins().converter(name)
    return PartChoice("part", name, properties).configured(made)


def answer(question: Mapping[str, Any]) -> dict[str, Any]:
    ask = getattr(converter(question["class"], question["properties"]), question["operation"])
    names = ("t", "h") if question["operation"].endswith("header") else ("t",)
    try:
        if question["operation"].startswith("to"):
            made = ask(*names, None if question["bytes"] is None else b64decode(question["bytes"]))
            return {"schema": shown_schema(made.schema), "value": shown_value(*made)}
        schema = read_schema(question["schema"])
        made = ask(*names, schema, read_value(schema, question["value"]))
    except (DataError, TypeError) as why:
        return {"message": str(why)}
    return {"bytes": None if made is None else b64encode(made).decode()}


def same(ours: Mapping[str, Any], java: Mapping[str, Any]) -> bool:
    if "error" in java:
        words = re.sub(r"( \(was)? ?(class )?(java.*|\[B\)?)?:? ?$", "", java["message"])
        return "message" in ours and any(one in ours["message"] for one in (words, OTHER_WORDS.get(words, words)))
    if "bytes" in java:
        return ours == java
    return "schema" in ours and finite(ours) == finite(java)


def finite(one: Mapping[str, Any]) -> Any:
    """An answer in which no number is infinite or a negative zero: Jackson reads 0 for these."""
    text = json.dumps(comparable({"headers": [["h", one["schema"], one["value"]]]}))
    return json.loads(re.sub(r'"(float32|float64)": "(NaN|-?Infinity|-0.0)"', r'"\1": "0.0"', text))


@pytest.mark.parametrize("name", dict.fromkeys(question["class"] for question, _ in ASKED))
def test_a_converter_answers_as_kafka_connects(name: str) -> None:
    """CNV-03, CNV-04, CNV-05: bytes of values, values of bytes, refusals."""
    asked = [(question, wanted) for question, wanted in ASKED if question["class"] == name]
    wrong = [(question, wanted) for question, wanted in asked if not same(answer(question), wanted)]
    assert [(question, wanted, answer(question)) for question, wanted in wrong] == []
    assert asked
