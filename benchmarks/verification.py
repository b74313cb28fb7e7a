"""Measure what verifying a run costs beside the run itself: a CSV file of 5,000,000 lines, ingested, then verified.

    python benchmarks/verification.py [--lines N] [--identity headers] [--broker own]

`--broker own` serves the topics from a process of their own, so that the memory told is the run's alone; without it the
run serves them itself, in its memory, as a pipeline file without `bootstrap.servers` does. Both parts are of one run:
seconds, seconds of processor, the most memory resident meanwhile, and how much that is above what was resident before.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show
from contenders import started

from eosfw.concurrency import ThreadRuntime
from eosfw.pipeline import Options, RunControl, SilentReporter, Summary, Verification, load, run
from eosfw.registry import load_plugins

PIPELINE = """
[cluster]
backend = "{backend}"
{cluster}
[worker]
"group.id" = "verification"
[connectors.lines]
"connector.class" = "file"
file = "{file}"
format = "csv"
topic = "lines"
"eosfw.identity" = "{identity}"
"""


def resident(what: str) -> float:
    """Megabytes of this process: `VmRSS` now, `VmHWM` at most since the last `forget`."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) / 1000 if found else float("nan")


def forget() -> None:
    """Reset the peak of resident memory."""
    Path("/proc/self/clear_refs").write_text("5")


class Phases(SilentReporter):
    """Measures each phase of a run that begins with one of two words."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._end = lambda: None

    def phase(self, text: str) -> None:
        self.close()
        name = {"running": "ingest", "verifying": "verification"}.get(re.split(r"\W", text)[0])
        if name is None:
            return
        forget()
        begun, processor, before = time.monotonic(), time.process_time(), resident("VmRSS")

        def end() -> None:
            most = resident("VmHWM")
            self.found[name] = {
                "seconds": round(time.monotonic() - begun, 3),
                "processor": round(time.process_time() - processor, 3),
                "megabytes": round(most),
                "megabytes_more": round(most - before),
            }

        self._end = end

    def close(self) -> None:
        """End the last phase."""
        end, self._end = self._end, lambda: None
        end()


def write_lines(file: Path, lines: int) -> None:
    """A CSV file of six columns."""
    with file.open("w") as out:
        out.write("id,carrier,origin,dest,distance,air_time\n")
        for number in range(lines):
            out.write(f"{number},UA,EWR,IAH,{number % 4000},{number % 300}\n")


@contextmanager
def broker() -> Iterator[str]:
    """Serve topics from a process of their own."""
    command = Path(sys.executable).with_name("eosfw")
    with started("the embedded broker", str(command), "broker", "--listen", "127.0.0.1:0") as contender:
        yield contender.address()


def measure(
    folder: Path, asked: argparse.Namespace, servers: str | None
) -> tuple[Summary, dict[str, dict[str, float]]]:
    """One run, verified."""
    file = folder / "lines.csv"
    write_lines(file, asked.lines)
    cluster = f'"bootstrap.servers" = "{servers}"' if servers else ""
    text = PIPELINE.format(backend=asked.backend, cluster=cluster, file=file, identity=asked.identity)
    (folder / "pipeline.toml").write_text(text)
    phases = Phases()
    options = Options(verify=Verification.REQUIRED)
    summary = run(load(folder / "pipeline.toml"), load_plugins(), RunControl(ThreadRuntime()), phases, options)
    phases.close()
    return summary, phases.found


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=scaled(5_000_000))
    parser.add_argument("--identity", default="headers")
    parser.add_argument("--backend", default="memory")
    parser.add_argument("--broker", choices=("own",), help="serve the topics from a process of their own")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, broker() if asked.broker else nullcontext() as servers:
        summary, found = measure(Path(folder), asked, servers)
    if (summary.records, summary.duplicates, summary.missing) != (asked.lines, 0, 0):
        raise ContenderError(f"wrong verdict: {summary}")
    ratios = {what: round(found["verification"][what] / found["ingest"][what], 2) for what in ("seconds", "processor")}
    show({"lines": asked.lines, **found, "verification/ingest": ratios})


if __name__ == "__main__":
    run_main(main)
