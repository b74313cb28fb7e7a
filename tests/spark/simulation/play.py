"""Play seeds of a simulated query, and print the hash of each trace, or what failed, and at the end what was tried.

python -m tests.spark.simulation.play MODE SEED[:FAULTS]...
python -m tests.spark.simulation.play MODE FIRST-LAST
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_eos.simulation.coverage import Coverage
from pytest_eos.simulation.fault_plan import parse_token

from .faults import QUERY
from .queries import played
from .rare_states import QUERY_STATES


def _tokens(given: list[str]) -> list[str]:
    first, dash, last = given[0].partition("-")
    return [str(seed) for seed in range(int(first), int(last) + 1)] if dash else given


def main(mode: str, *given: str) -> int:
    """Play them; 1 if one failed."""
    coverage, failed = Coverage(), 0
    tokens = _tokens([*given])
    for token in tokens:
        with TemporaryDirectory() as folder:
            found = played(parse_token(token, QUERY), Path(folder), mode)
        coverage.add_run(found, QUERY_STATES)
        failed += found.failure is not None
        if found.failure is not None or tokens == [*given]:
            digest = found.trace.digest if found.failure is None else f"FAILED: {found.failure}"
            sys.stdout.write(f"{token} {digest}\n")
    if tokens != [*given]:
        sys.stdout.write("\n".join([*coverage.lines(), f"{failed} failed", ""]))
    return min(1, failed)


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sys.exit(main(*sys.argv[1:]))
