"""Print the hash of the trace of each seed that is given, in a process of its own."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from tests.simulation.connectors import played

from pytest_eos.simulation.fault_plan import draw_plan

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    for seed in sys.argv[1:]:
        sys.stdout.write(f"{played(draw_plan(int(seed)), Path()).trace.digest}\n")
