"""Fail unless the demo's summary says that Spark found every record once, and the demo left Spark's files."""

from __future__ import annotations

import json
import sys
from pathlib import Path

summary = json.loads(Path(sys.argv[1]).read_text())
expected = {"passed": True, "spark": True, "exactly_once": True, "duplicates": 0, "missing": 0}
wrong = {name: summary.get(name) for name, value in expected.items() if summary.get(name) != value}
if wrong or not list(Path(sys.argv[2]).glob("*/*.parquet")):
    sys.exit(f"ci: the demo must end with {expected} and Parquet files; it ended with {wrong}")
