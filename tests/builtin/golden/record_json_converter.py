"""Record what Kafka Connect's JsonConverter writes of `json_converter_cases.py`, one text in each line.

`python tests/builtin/golden/record_json_converter.py` needs Java 17 or later. Run it after a change of the cases, and
commit both.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS = HERE / "json_converter.jsonl"


def main() -> None:
    """Write the answers: what is written, or in an object the message of the error."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from json_converter_cases import cases

    from eosfw.data import fitted
    from kafka_connect.java import ask
    from kafka_connect.notation import shown_schema, shown_value

    questions = [
        {
            "operation": "from_connect_data",
            "class": "org.apache.kafka.connect.json.JsonConverter",
            "properties": case.properties,
            "topic": "t",
            "schema": shown_schema(case.schema),
            "value": shown_value(case.schema, fitted(case.schema, case.value)),
        }
        for case in cases()
    ]
    ANSWERS.write_text("".join(map(_line, ask(questions))), encoding="utf-8")


def _line(answer: dict[str, Any]) -> str:
    made = {"error": answer["message"]} if "error" in answer else base64.b64decode(answer["bytes"]).decode()
    return json.dumps(made, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
