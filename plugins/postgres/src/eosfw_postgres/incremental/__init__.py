"""Incremental snapshots: rows of tables that are read anew while changes go on, as signals ask for."""

from eosfw_postgres.incremental.progress import Progress
from eosfw_postgres.incremental.signals import ExecuteSnapshot, SignalError, StopSnapshot, signal_of
from eosfw_postgres.incremental.snapshot import Chunk, IncrementalSnapshot

__all__ = [
    "Chunk",
    "ExecuteSnapshot",
    "IncrementalSnapshot",
    "Progress",
    "SignalError",
    "StopSnapshot",
    "signal_of",
]
