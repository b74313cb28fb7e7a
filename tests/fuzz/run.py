"""Fuzz for as long as you like: `python -m tests.fuzz.run --seconds 600 [TARGET ...]`.

Writes a JSON object for each target to stdout. What fails is written beside the samples, so that the tests try it from
then on; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import sys
import time

from tests.fuzz.coverage import GUIDED
from tests.fuzz.fuzzer import fuzz
from tests.fuzz.targets import CORPUS, TARGETS, corpus

_MEMORY = 3 << 30
"""Whoever wants more was led to it by bytes that declare more than they hold."""


def main() -> int:
    """Fuzz one target after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=30.0, help="of a processor, for each target")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    failed = False
    for name in given.targets or TARGETS:
        began = time.monotonic()
        found = fuzz(TARGETS[name], corpus(name), given.seconds, given.seed)
        told = {
            "target": name,
            "seconds": given.seconds,
            "by_the_clock": round(time.monotonic() - began),
            "seed": given.seed,
            "guided": GUIDED,
            "inputs": found.runs,
            "places": found.places,
            "kept": len(found.kept),
            "failures": len(found.failures),
        }
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        for trace, data in found.failures.items():
            failed = True
            sys.stderr.write(f"{name}: {data.hex()}\n{trace}\n")
            (CORPUS / name).mkdir(exist_ok=True)
            (CORPUS / name / f"failed-{hashlib.sha256(data).hexdigest()[:12]}.bin").write_bytes(data)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
