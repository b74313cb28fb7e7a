"""Print what a benchmark found, together with the conditions of its run: a number without them proves little."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

_CLIENTS = ("confluent-kafka", "kafka-python", "crc32c", "kio")
_BEGAN, _LOAD = time.perf_counter(), os.getloadavg()


def show(found: Mapping[str, object]) -> None:
    """Print one JSON object: the findings, then when, how long, beside how much other work (processes that wanted a
    processor, a minute's average) this process measured."""
    run = {
        "command": " ".join((Path(sys.argv[0]).name, *sys.argv[1:])),
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": round(time.perf_counter() - _BEGAN),
        "load": {"before": round(_LOAD[0], 1), "after": round(os.getloadavg()[0], 1)},
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _CLIENTS},
    }
    print(json.dumps({**found, "run": run}, indent=2))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
