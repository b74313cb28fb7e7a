"""Record what Kafka Connect's own classes do with `cases.json`: `python tests/builtin/golden/record_kafka_connect.py`.

Needs Java 17 or later; the jars come from Maven Central by name. Run it after a change of the cases, and commit both.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import jgo

KAFKA_VERSION = "4.1.1"
HERE = Path(__file__).parent
ANSWERS = HERE / "kafka_connect.json"


def main() -> None:
    """Write the answers."""
    endpoint = "+".join(
        [f"org.apache.kafka:{one}:{KAFKA_VERSION}" for one in ("connect-json", "connect-transforms", "connect-runtime")]
    )
    jars = jgo.build(endpoint).all_jars
    command = ["java", "-cp", ":".join(map(str, jars)), str(HERE / "RecordKafkaConnect.java"), str(HERE / "cases.json")]
    ANSWERS.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)


if __name__ == "__main__":
    main()
