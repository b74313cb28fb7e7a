"""Run a pipeline file: connectors until drained, then steps over what they committed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eosfw.pipeline.definition.model import ClusterChoice, Pipeline, Verification
    from eosfw.pipeline.definition.parsing import load, load_with_problems, parse
    from eosfw.pipeline.definition.step_order import in_order
    from eosfw.pipeline.local.console import RunConsole
    from eosfw.pipeline.local.control import RunControl
    from eosfw.pipeline.local.local_run import LocalRun
    from eosfw.pipeline.local.reporter import Reporter, SilentReporter
    from eosfw.pipeline.lso_wait import committed_ranges
    from eosfw.pipeline.runner import Options, check, run
    from eosfw.pipeline.step_run import StepRun
    from eosfw.pipeline.verdicts.replay import replay_records
    from eosfw.pipeline.verdicts.summary import StepResult, Summary

__all__ = [
    "ClusterChoice",
    "LocalRun",
    "Options",
    "Pipeline",
    "Reporter",
    "RunConsole",
    "RunControl",
    "SilentReporter",
    "StepResult",
    "StepRun",
    "Summary",
    "Verification",
    "check",
    "committed_ranges",
    "in_order",
    "load",
    "load_with_problems",
    "parse",
    "replay_records",
    "run",
]

_HOMES = {
    "ClusterChoice": "eosfw.pipeline.definition.model",
    "LocalRun": "eosfw.pipeline.local.local_run",
    "Options": "eosfw.pipeline.runner",
    "Pipeline": "eosfw.pipeline.definition.model",
    "Reporter": "eosfw.pipeline.local.reporter",
    "RunConsole": "eosfw.pipeline.local.console",
    "RunControl": "eosfw.pipeline.local.control",
    "SilentReporter": "eosfw.pipeline.local.reporter",
    "StepResult": "eosfw.pipeline.verdicts.summary",
    "StepRun": "eosfw.pipeline.step_run",
    "Summary": "eosfw.pipeline.verdicts.summary",
    "Verification": "eosfw.pipeline.definition.model",
    "check": "eosfw.pipeline.runner",
    "committed_ranges": "eosfw.pipeline.lso_wait",
    "in_order": "eosfw.pipeline.definition.step_order",
    "load": "eosfw.pipeline.definition.parsing",
    "load_with_problems": "eosfw.pipeline.definition.parsing",
    "parse": "eosfw.pipeline.definition.parsing",
    "replay_records": "eosfw.pipeline.verdicts.replay",
    "run": "eosfw.pipeline.runner",
}


def __getattr__(name: str) -> Any:
    # The command line takes one module of this package at every start; all others are loaded when asked for.
    if name not in _HOMES:
        raise AttributeError(f"module 'eosfw.pipeline' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
