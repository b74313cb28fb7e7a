"""The frame of every benchmark: its size, how it prints what it found, how it ends when a contender fails.

`BENCHMARK_SCALE=0.001` makes every size a thousandth, to see in seconds whether a script still runs; its figures then
mean nothing.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

SCALE = float(os.environ.get("BENCHMARK_SCALE", "1"))
_CLIENTS = ("confluent-kafka", "kafka-python", "crc32c", "kio")
_BEGAN, _LOAD = time.perf_counter(), os.getloadavg()


class ContenderError(Exception):
    """A contender failed; the text names it and says how."""


def scaled(size: int, least: int = 1) -> int:
    """A size of a benchmark, as BENCHMARK_SCALE asks for it."""
    return max(least, round(size * SCALE))


def run_main(main: Callable[[], int | None]) -> None:
    """Run a benchmark; what fails ends it with one sentence, with a trace only under `python -X dev`."""
    try:
        sys.exit(main())
    except Exception as why:
        if sys.flags.dev_mode:
            raise
        said = str(why) if isinstance(why, ContenderError) else f"{type(why).__name__}: {why}"
        sys.exit(f"{Path(sys.argv[0]).name}: {said}")


def show(found: Mapping[str, object]) -> None:
    """Print one JSON object: the findings, then the conditions of the run, without which a number proves little.

    `load` is how many processes wanted a processor, a minute's average.
    """
    conditions = {
        "command": " ".join((Path(sys.argv[0]).name, *sys.argv[1:])),
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "seconds": round(time.perf_counter() - _BEGAN),
        "load": {"before": round(_LOAD[0], 1), "after": round(os.getloadavg()[0], 1)},
        "processors": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _CLIENTS},
    }
    if SCALE != 1:
        conditions["scale"] = SCALE
    print(json.dumps({**found, "run": conditions}, indent=2))


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
