"""Ask the classes of Kafka Connect, in Java, what they make of records and values.

A script that records answers says, for example (Java 17 or later; the jars come from Maven Central by name):

    from kafka_connect.java import ask
    ask([{
        "operation": "transform", "class": "org.apache.kafka.connect.transforms.HoistField$Value",
        "properties": {"field": "whole"},
        "record": {"topic": "t", "value_schema": {"type": "int32"}, "value": {"int32": 1}},
    }])

Questions, each with `class` and `properties`, and their answers:

| operation | asks with | answer |
|---|---|---|
| `transform` | `record` | `record`, null if it was dropped |
| `predicate` | `record` | `chosen` |
| `from_connect_data` | `topic`, `schema`, `value`, `key`: whether it converts keys | `bytes` in base64, or null |
| `to_connect_data` | `topic`, `bytes`, `key` | `schema`, `value` |
| `from_connect_header` | `topic`, `name`, `schema`, `value` | `bytes` |
| `to_connect_header` | `topic`, `name`, `bytes` | `schema`, `value` |

What throws is answered with `error` (the exception's class), `message`, and `at`: `configure`, `apply` or the
operation. A record has `topic`, `partition`, `key_schema`, `key`, `value_schema`, `value`, `timestamp` and `headers`,
each `[name, schema, value]`; whatever is null is left out. `kafka_connect.notation` reads and writes the schemas and
values. Java's own time zone is UTC.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jgo

KAFKA_VERSION = "4.1.1"
_MODULES = ("connect-json", "connect-transforms", "connect-runtime")
_PROGRAM = Path(__file__).with_name("KafkaConnect.java")


def ask(questions: Iterable[Mapping[str, Any]], classpath: Iterable[Path] = ()) -> list[dict[str, Any]]:
    """The answers, in the order of the questions; RuntimeError with Java's words if a question cannot be read.

    `classpath` has other jars and folders of classes.
    """
    jars = jgo.build("+".join(f"org.apache.kafka:{one}:{KAFKA_VERSION}" for one in _MODULES)).all_jars
    lines = "".join(f"{json.dumps(one)}\n" for one in questions)
    command = ["java", "-cp", ":".join(map(str, (*jars, *classpath))), str(_PROGRAM)]
    done = subprocess.run(command, input=lines.encode(), capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-4000:])
    return [json.loads(line) for line in done.stdout.splitlines()]
