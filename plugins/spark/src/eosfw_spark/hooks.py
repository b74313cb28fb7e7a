"""The hooks of eosfw-spark; they do not import Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosfw.hookspecs import PluginDesc, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


@hookimpl
def eosfw_step_engines() -> Iterable[PluginDesc]:
    """Offer the step engine."""
    return [PluginDesc("eosfw_spark.steps.engine:SparkStepEngine", "spark")]
