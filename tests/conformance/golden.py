"""Read and write the table of answers that a real Kafka gave."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("golden.json")
OTHERS = Path(__file__).with_name("others.json")
"""What belongs to no state of a transaction: strange arguments, who may commit offsets of a group."""


def load() -> dict[str, Any]:
    """The table with the Kafka it was recorded from."""
    found: dict[str, Any] = json.loads(FILE.read_text())
    return found


def store(kafka: str, cells: Mapping[str, Mapping[str, Mapping[str, str]]]) -> None:
    """Write it, one line for each cell, so that a difference is a difference of lines."""
    count = sum(len(relations) for requests in cells.values() for relations in requests.values())
    table = {"kafka": kafka, "count": count, "cells": cells}
    FILE.write_text(json.dumps(table, indent=1, ensure_ascii=False) + "\n")


def load_others() -> dict[str, Any]:
    """Answers by table, by question, with the Kafka that gave them."""
    found: dict[str, Any] = json.loads(OTHERS.read_text())
    return found


def store_others(kafka: str, tables: Mapping[str, Mapping[str, str]]) -> None:
    """Write them, one line for each."""
    count = sum(map(len, tables.values()))
    OTHERS.write_text(json.dumps({"kafka": kafka, "count": count, **tables}, indent=1, ensure_ascii=False) + "\n")
