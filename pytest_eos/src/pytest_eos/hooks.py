"""The hook of pytest-eos: an observer for processes of Spark that a test freezes or kills, elsewhere none.

It is loaded in every process that loads plugins, so it imports nothing before a test asked for a gate there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from eosfw.hookspecs import hookimpl
from pytest_eos.environment.processes.os_processes import FOLDER_VARIABLE

if TYPE_CHECKING:
    from eosfw.protocols import Observer


@hookimpl
def eosfw_observers() -> Iterable[type[Observer]]:
    """Offer the gate to the processes of a driver under test."""
    if FOLDER_VARIABLE not in os.environ:
        return []
    from pytest_eos.environment.processes.batch_gate import MicroBatchGate

    return [MicroBatchGate]
