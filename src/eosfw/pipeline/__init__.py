"""Run a pipeline file: connectors until drained, then steps over what they committed."""

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
