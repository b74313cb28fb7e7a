"""Read and write the table of answers that a real Kafka gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("golden.json")


def load() -> dict[str, Any]:
    """The table with the Kafka it was recorded from."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def store(kafka: str, cells: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
    """Write it, one line for each cell, so that a difference is a difference of lines."""
    count = sum(len(relations) for requests in cells.values() for relations in requests.values())
    table = {"kafka": kafka, "count": count, "cells": cells}
    FILE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")
