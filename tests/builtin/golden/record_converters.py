"""Record what Kafka Connect's converters make of `converter_cases.py`, one answer in each line.

`python tests/builtin/golden/record_converters.py` needs Java 17 or later. Run it after a change of the cases, and
commit both.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
ANSWERS = HERE / "converters.jsonl"


def main() -> None:
    """Write the answers."""
    sys.path[:0] = [str(HERE.parent.parent)]
    from builtin.golden.converter_cases import questions
    from kafka_connect.java import ask

    lines = (json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in ask(questions()))
    ANSWERS.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
