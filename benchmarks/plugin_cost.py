"""Measure start-up costs: of pytest-eos in an empty run of pytest, of `import eosfw` (goal 9), of what is installed.

Processor time of child processes, with and without in turn, so that other work on the machine meets both alike; the
least of many rounds is what the work itself takes. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark import run_main, scaled, show

GOALS = {"plugin_ms": 15, "import_ms": 60}
HEAVY = ("confluent_kafka", "kafka", "kio", "pyarrow", "pyspark", "typer")
# The empty run takes no options of a run of pytest that this one may be part of.
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
LOAD = "from eosfw.registry import load_plugins; load_plugins()"
"""What each command does that may need a plugin; `.imported()` behind it imports every class, as a start once did."""
SHOW = f"import sys, eosfw; print(*(name for name in {HEAVY!r} if name in sys.modules))"


def cpu_ms(*arguments: str) -> float:
    """Processor time of one interpreter."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def added_ms(plain: list[str], with_it: list[str], rounds: int) -> dict[str, float]:
    """How much more the second takes: between the least of each, and the median of the rounds' differences."""
    pairs = [(cpu_ms(*plain), cpu_ms(*with_it)) for _ in range(rounds)]
    without, within = zip(*pairs, strict=True)
    differences = [more - less for less, more in pairs]
    return {
        "without": round(min(without), 1),
        "added": round(min(within) - min(without), 1),
        "added_median": round(statistics.median(differences), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=scaled(15))
    rounds = parser.parse_args().rounds
    loaded = subprocess.run([sys.executable, "-c", SHOW], check=True, capture_output=True, text=True).stdout.split()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_nothing.py").write_text("def test_nothing(): pass\n")
        empty = [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
            "--rootdir",
            folder,
            folder,
        ]
        result = {
            "plugin_ms": added_ms([*empty, "-p", "no:eos"], empty, rounds),
            "import_ms": added_ms(["-c", "pass"], ["-c", "import eosfw"], rounds),
            "load_plugins_ms": added_ms(["-c", "import eosfw"], ["-c", LOAD], rounds),
            "import_of_all_ms": added_ms(["-c", LOAD], ["-c", f"{LOAD}.imported()"], rounds),
            "heavy_modules_imported": loaded,
            "goals": GOALS,
        }
    show(result)


if __name__ == "__main__":
    run_main(main)
