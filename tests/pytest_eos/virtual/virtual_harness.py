"""Harnesses in virtual time, one for each seed that a test tries."""

from __future__ import annotations

from contextlib import contextmanager

from pytest_eos.environment.clusters.cluster import virtual
from pytest_eos.harness import EosHarness
from pytest_eos.runs.groups.worker_harness import HarnessSettings

TIMEOUT = 60.0
SMALL = {"streams": 2, "until": 6, "batch": 2, "tasks.max": 2}
"""The properties of a run that soon ends."""


@contextmanager
def eos_harness(seed, tmp_path):
    """A harness of its own for each seed."""
    with (
        virtual(seed) as cluster,
        EosHarness(cluster, "memory", HarnessSettings("test", tmp_path, seed or 0, TIMEOUT)) as eos,
    ):
        yield eos
