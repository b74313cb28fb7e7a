"""Record what a real Kafka Connect answers, in connect_answers.json; run by hand.

    python -m tests.rest.record_connect_answers 127.0.0.1:18083

Needs a Connect worker with exactly-once support and connect-file's connectors, with no connector of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from .sending import answers

GOLDEN = Path(__file__).with_name("connect_answers.json")


def main(address: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"call": call.name, **got} for call, got in answers(address, folder)]
    GOLDEN.write_text("[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n")
    print(f"{len(rows)} answers in {GOLDEN.name}")  # noqa: T201 - a script run by hand


if __name__ == "__main__":
    main(sys.argv[1])
