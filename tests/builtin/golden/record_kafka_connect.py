"""Record what Kafka Connect's own classes do with `cases.json`: `python tests/builtin/golden/record_kafka_connect.py`.

Needs Java 17 or later; the jars come from Maven Central by name. Run it after a change of the cases, and commit both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS = HERE / "kafka_connect.json"
OPERATIONS = {"converters": "from_connect_data", "transformations": "transform", "predicates": "predicate"}


def main() -> None:
    """Write the answers."""
    sys.path.insert(0, str(HERE.parent.parent))
    from kafka_connect.java import ask

    cases = json.loads((HERE / "cases.json").read_text(encoding="utf-8"))
    roles = {role: ask(_question(role, one) for one in cases[role]) for role in OPERATIONS}
    answers = {role: [_answer(one) for one in given] for role, given in roles.items()}
    ANSWERS.write_text(json.dumps(answers, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _question(role: str, case: Mapping[str, Any]) -> dict[str, Any]:
    asked = {"operation": OPERATIONS[role], "class": case["class"], "properties": case["config"]}
    if role == "converters":
        return {**asked, "value": _tagged(case["value"])}
    record = case["record"]
    return {
        **asked,
        "record": {
            **record,
            "key": _tagged(record.get("key")),
            "value": _tagged(record.get("value")),
            "headers": [[name, {"type": "string"}, {"string": "x"}] for name in record.get("headers", ())],
        },
    }


TAGS = {bool: "boolean", int: "int64", str: "string"}


def _tagged(value: Any) -> Any:
    """A value as `kafka_connect.java` takes it; what JSON cannot say is an object with one name that begins with $."""
    if value is None:
        return None
    if type(value) in TAGS:
        return {TAGS[type(value)]: value}
    if isinstance(value, list):
        return {"array": [_tagged(one) for one in value]}
    return {"float64": repr(value)} if isinstance(value, float) else _tagged_object(value)


def _tagged_object(value: Mapping[str, Any]) -> dict[str, Any]:
    match value:
        case {"$double": text}:
            return {"float64": text}
        case {"$bytes": text}:
            return {"bytes": text}
        case {"$pairs": pairs}:
            return _map(pairs)
    return _map(value.items())


def _map(pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    return {"map": [[_tagged(key), _tagged(one)] for key, one in pairs]}


def _answer(given: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in given:
        return {"error": f"{given['error']}: {given['message']}"}
    if "record" not in given:
        return dict(given)
    record = given["record"]
    if record is None:
        return {"dropped": True}
    return {
        "topic": record["topic"],
        "key": _plain(record.get("key")),
        "value": _plain(record.get("value")),
    }


def _plain(tagged: Any) -> Any:
    if tagged is None:
        return None
    [(tag, value)] = tagged.items()
    if tag == "array":
        return [_plain(one) for one in value]
    if tag == "map":
        return {_plain(key): _plain(one) for key, one in value}
    return float(value) if tag.startswith("float") else value


if __name__ == "__main__":
    main()
