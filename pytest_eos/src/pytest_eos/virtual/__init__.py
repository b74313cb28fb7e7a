"""Run everything of a test on one thread, on a clock that jumps instead of ticking.

Threads of control are greenlets. While nobody can run, time jumps to the next timer, so that a timeout of 60 s costs
nothing. Who goes on next is drawn by a seed: the same seed gives the same interleaving.
"""

from __future__ import annotations

from pytest_eos.virtual.clock import VirtualRuntime
from pytest_eos.virtual.scheduler import DeadlockError

__all__ = ["DeadlockError", "VirtualRuntime"]
