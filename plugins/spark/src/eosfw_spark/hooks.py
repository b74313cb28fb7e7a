"""The hooks of eosfw-spark; they do not import Spark."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.hookspecs import hookimpl
from eosfw.protocols import StepEngine
from eosfw_spark.steps.engine import SparkStepEngine


@hookimpl
def eosfw_step_engines() -> Iterable[type[StepEngine]]:
    """Offer the step engine."""
    return [SparkStepEngine]
