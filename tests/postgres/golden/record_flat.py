"""Record what Debezium's `ExtractNewRecordState` makes of `flat_cases.py`.

`python tests/postgres/golden/record_flat.py` needs Java 17 or later; the jars come from Maven Central by name.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
DEBEZIUM = "io.debezium:debezium-core:3.3.1.Final"


def main() -> None:
    """Write the answers, one in each line."""
    sys.path[:0] = [str(HERE), str(HERE.parent.parent)]
    from flat_cases import questions

    from kafka_connect.java import ask
    from maven import jars

    own = [jar for jar in jars(DEBEZIUM) if jar.name.startswith("debezium")]
    lines = (json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in ask(questions(), own))
    (HERE / "flat.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
