"""Start Spark for the tests that ask for it."""

from __future__ import annotations

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


@contextmanager
def session() -> Iterator[SparkSession]:
    """A local session without log output that is stopped afterwards; a running session is used and left running."""
    from eosfw_spark import session as sessions

    running = sessions.start(cores=_CORES)
    try:
        yield running.spark
    finally:
        running.close()
