"""Measure how long `eosfw verify` takes for histories of 100,000, 1,000,000 and 2,000,000 operations, and its memory.

Each history is one of a connector that behaves, written to a file and checked in a process of its own. Prints one JSON
object: seconds of a processor and peak memory in MB for each size.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmark import run_main, scaled, show

GOAL = {"operations": 1_000_000, "seconds": 15, "megabytes": 1000}
_CHECK = """
import resource, sys
from pathlib import Path
from eosfw.checker import check_history, read_history
checked = check_history(read_history(Path(sys.argv[1])))
used = resource.getrusage(resource.RUSAGE_SELF)
print(checked.judgement.value, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def write_history(path: Path, operations: int) -> int:
    """A history of transactions of ten records each, nine in ten committed; the number of its operations."""
    log: list[str] = []
    number = 0
    with path.open("w") as file:

        def add(**facts: object) -> None:
            nonlocal number
            file.write(json.dumps({"i": number, "t": number / 1000, **facts}) + "\n")
            number += 1

        while number + len(log) < operations:
            txn = len(log) // 11
            ids = {"proc": f"task-{txn % 4}", "tid": f"g-c-{txn % 4}", "txn": txn}
            part, committed = f"t-{txn % 4}", txn % 10 != 0
            first = txn // 4 * 11
            for at in range(10):
                sent = {"part": part, "val": f"{txn}:{at}", **ids}
                add(op="send", type="invoke", **sent)
                add(op="send", type="ok", off=first + at, **sent)
                entry = {"part": part, "off": first + at, "val": f"{txn}:{at}", "pid": txn % 4, "epoch": txn, "seq": at}
                log.append(json.dumps({"proc": "log", "op": "log", "type": "ok", "visible": committed, **entry})[1:])
            end = "commit" if committed else "abort"
            add(op=end, type="invoke", **ids)
            add(op=end, type="ok", **ids)
            marker = {"part": part, "off": first + 10, "control": end, "pid": txn % 4, "epoch": txn}
            log.append(json.dumps({"proc": "log", "op": "marker", "type": "ok", **marker})[1:])
        for entry_text in log:
            file.write(f'{{"i": {number}, "t": {number / 1000}, {entry_text}\n')
            number += 1
        for at in range(4):
            add(proc="log", op="partition", type="ok", part=f"t-{at}", off=1, seq=1)
        add(proc="log", op="end", type="ok")
    return number


def measured(path: Path) -> dict[str, object]:
    done = subprocess.run([sys.executable, "-c", _CHECK, str(path)], check=True, capture_output=True, text=True)
    judgement, seconds, megabytes = done.stdout.rsplit(maxsplit=2)
    return {"judgement": judgement, "seconds": round(float(seconds), 1), "megabytes": round(float(megabytes))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--operations", type=int, nargs="*", default=[scaled(n) for n in (100_000, 1_000_000, 2_000_000)]
    )
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for wanted in arguments.operations:
            path = Path(folder) / "history.jsonl"
            rows.append({"operations": write_history(path, wanted), **measured(path)})
    show({"histories": rows, "goal": GOAL})


if __name__ == "__main__":
    run_main(main)
