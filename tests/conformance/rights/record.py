"""Record the answers of a real Kafka to principals with and without rights: `python -m conformance.rights.record`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from authorized_kafka import AuthorizedKafka
from real_kafka import KAFKA_VERSION

from .cells import answers, nested

GOLDEN = Path(__file__).with_name("golden.json")


def main() -> int:
    """Record every cell."""
    with tempfile.TemporaryDirectory() as folder:
        kafka = AuthorizedKafka.start(Path(folder) / "node")
        try:
            found = dict(answers(kafka.bootstrap_servers))
        finally:
            kafka.stop()
    table = {"kafka": KAFKA_VERSION, "count": len(found), "cells": nested(found)}
    GOLDEN.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
    sys.stderr.write(f"{len(found)} cells\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
