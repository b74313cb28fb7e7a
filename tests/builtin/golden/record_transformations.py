"""Record what Kafka Connect makes of `transformation_cases.py`.

`python tests/builtin/golden/record_transformations.py` needs Java 17 or later. Run it after a change of the cases, and
commit both.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ANSWERS = HERE / "transformations.jsonl"


def main() -> None:
    """Write the answers, one in each line."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from transformation_cases import questions

    from kafka_connect.java import ask

    asked = questions()
    answers = map(changes, asked, ask(asked))
    lines = (json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in answers)
    ANSWERS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def changes(question: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """An answer with only those parts of the record that are others than in the question; null for one that is gone."""
    record = answer.get("record")
    if record is None:
        # Objects in a message have other addresses of memory each time.
        return {
            name: re.sub(r"(?<=on record): .*|(?<=InsertionSpec)@.*", "", one) if name == "message" else one
            for name, one in answer.items()
        }
    given = question["record"]
    return {"record": {name: record.get(name) for name in {**given, **record} if given.get(name) != record.get(name)}}


if __name__ == "__main__":
    main()
