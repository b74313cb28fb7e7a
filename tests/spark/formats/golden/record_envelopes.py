"""Record the envelopes of Kafka Connect's `JsonConverter`: `python tests/spark/formats/golden/record_envelopes.py`.

Needs Java 17 or later; the jars come from Maven Central by name. Run it after a change of the value, and commit both.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVELOPES = HERE / "envelopes.json"
LOGICAL = "org.apache.kafka.connect.data."
FIELDS: list[tuple[str, dict[str, Any], dict[str, Any] | None]] = [
    ("i8", {"type": "int8"}, {"int8": -1}),
    ("i16", {"type": "int16"}, {"int16": 2}),
    ("i32", {"type": "int32"}, {"int32": 3}),
    ("i64", {"type": "int64"}, {"int64": 1 << 60}),
    ("f32", {"type": "float32"}, {"float32": "0.1"}),
    ("f64", {"type": "float64"}, {"float64": "1e-7"}),
    ("ok", {"type": "boolean"}, {"boolean": True}),
    ("text", {"type": "string"}, {"string": "ø\n"}),
    ("data", {"type": "bytes"}, {"bytes": "AP8="}),
    ("none", {"type": "string", "optional": True}, None),
    ("other", {"type": "string", "default": {"string": "default"}}, {"string": "given"}),
    ("list", {"type": "array", "values": {"type": "int32", "optional": True}}, {"array": [{"int32": 1}, None]}),
    (
        "map",
        {"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}},
        {"map": [[{"string": "k"}, {"int64": 5}]]},
    ),
    (
        "pairs",
        {"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
        {"map": [[{"int32": 7}, {"string": "x"}]]},
    ),
    (
        "inner",
        {"type": "struct", "name": "Inner", "fields": [{"name": "x", "schema": {"type": "int32"}}]},
        {"struct": [["x", {"int32": 4}]]},
    ),
    (
        "price",
        {"type": "bytes", "name": f"{LOGICAL}Decimal", "version": 1, "parameters": {"scale": "2"}},
        {"decimal": "-12.30"},
    ),
    ("day", {"type": "int32", "name": f"{LOGICAL}Date", "version": 1}, {"date": 19753 * 86_400_000}),
    ("time", {"type": "int32", "name": f"{LOGICAL}Time", "version": 1}, {"date": 5}),
    ("at", {"type": "int64", "name": f"{LOGICAL}Timestamp", "version": 1}, {"date": 1706702400123}),
]


def main() -> None:
    """Write the envelopes: of every type with both forms of decimals, of a plain key, of null."""
    sys.path.insert(0, str(HERE.parents[2]))
    from kafka_connect.java import ask

    every = {"type": "struct", "name": "Every", "fields": [{"name": name, "schema": kind} for name, kind, _ in FIELDS]}
    value = {"struct": [[name, given] for name, _, given in FIELDS]}
    asked = {
        "every": ({"decimal.format": "BASE64"}, every, value),
        "numeric": ({"decimal.format": "NUMERIC"}, every, value),
        "key": ({}, {"type": "int64"}, {"int64": 7}),
        "null": ({}, {"type": "string", "optional": True}, None),
    }
    answers = ask(
        {
            "operation": "from_connect_data",
            "class": "org.apache.kafka.connect.json.JsonConverter",
            "properties": {"schemas.enable": "true", **properties},
            "topic": "t",
            "schema": schema,
            "value": given,
        }
        for properties, schema, given in asked.values()
    )
    texts = [base64.b64decode(each["bytes"]).decode("utf-8") for each in answers]
    ENVELOPES.write_text(json.dumps(dict(zip(asked, texts, strict=True)), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
