"""Measure what a verdict without Spark costs: seconds and memory to count 1,000,000 identities from headers.

    python benchmarks/verdict.py [--records N]

A fresh process for each number of records, so that the growth of its resident memory is the count's own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmark import ContenderError, run_main, scaled, show

from eosfw.identity import IdentityHeaders, identity_of
from eosfw.pipeline.verdicts.identity_count import Spool, count_identities

CHUNK = 1_000


def identities(records: int) -> Iterator[list[bytes]]:
    """What a file's records carry, a poll at a time."""
    headers = IdentityHeaders("flights")
    partition = {"filename": "/data/flights-2013.csv"}
    for start in range(0, records, CHUNK):
        offsets = [{"position": 100 * number, "id": "5f3c1b0a9d"} for number in range(start, start + CHUNK)]
        yield [identity_of(None, each, "headers") for each in headers.column([partition] * len(offsets), offsets)]


def resident() -> int:
    """The most memory this process ever had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(records: int) -> dict[str, float]:
    """Count once; building the identities, which a replay does anyway, is told apart."""
    before = resident()
    with Spool() as expected:
        for chunk in identities(records):
            expected.add(chunk)
        begun = time.process_time()
        built = [0.0]

        def found() -> Iterator[list[bytes]]:
            chunks = identities(records)
            while True:
                since = time.process_time()
                chunk = next(chunks, None)
                built[0] += time.process_time() - since
                if chunk is None:
                    return
                yield chunk

        verdict = count_identities(found, expected)
        seconds = time.process_time() - begun - built[0]
    if (verdict.duplicates, verdict.missing) != (0, 0):
        raise ContenderError(f"wrong verdict: {verdict}")
    return {"records": records, "cpu_seconds": round(seconds, 2), "megabytes": round((resident() - before) / 1e6, 1)}


def main() -> None:
    """Print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=scaled(1_000_000))
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        print(json.dumps(measure(given.records)))
        return
    found = {}
    for records in (given.records // 10, given.records, given.records * 4):
        command = [sys.executable, __file__, "--once", "--records", str(records)]
        found[f"{records} records"] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    show(found)


if __name__ == "__main__":
    run_main(main)
