"""Start Spark for the tests that ask for it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CORES = 2


def problem() -> str | None:
    """The reason why Spark cannot start here, with the remedy; None if it can."""
    for module in ("pyspark", "eosfw_spark"):
        if find_spec(module) is None:
            return f"Spark tests need {module}, which is not installed: pip install 'pytest-eos[spark]'"
    from eosfw_spark.java import java_problem

    return java_problem()


def cores(machine: int | None = None) -> int:
    """The cores of this process's session: pytest-xdist's workers, each with a session of its own, divide the machine.

    A limit on sessions at once would let workers wait for each other's last test, since a session ends with its worker.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, min(_CORES, (machine or os.cpu_count() or 1) // workers))


@contextmanager
def session() -> Iterator[SparkSession]:
    """A local session without log output that is stopped afterwards; a running session is used and left running."""
    from eosfw_spark import session as sessions

    running = sessions.start(cores=cores())
    try:
        yield running.spark
    finally:
        running.close()
