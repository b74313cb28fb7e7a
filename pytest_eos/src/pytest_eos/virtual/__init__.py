"""Virtual time: everything of a test runs on one thread, on a clock that jumps from timer to timer.

The threads of a test are greenlets. If none can run, the clock jumps to the next timer, so a timeout of 60 s costs
nothing. A seed chooses the greenlet that runs next: the same seed gives the same interleaving.
"""

from __future__ import annotations

from pytest_eos.virtual.clock import VirtualProcess, VirtualRuntime
from pytest_eos.virtual.scheduler import DeadlockError

__all__ = ["DeadlockError", "VirtualProcess", "VirtualRuntime"]
