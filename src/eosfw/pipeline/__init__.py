"""Run a pipeline file: connectors until drained, then steps over what they committed."""

from eosfw.pipeline.control import RunControl
from eosfw.pipeline.local_run import LocalRun
from eosfw.pipeline.lso_wait import committed_ranges
from eosfw.pipeline.model import ClusterChoice, Pipeline
from eosfw.pipeline.parsing import load, load_with_problems, parse
from eosfw.pipeline.replay import replay_records
from eosfw.pipeline.reporter import Reporter, SilentReporter
from eosfw.pipeline.runner import Options, check, run
from eosfw.pipeline.step_order import in_order
from eosfw.pipeline.step_run import StepRun
from eosfw.pipeline.summary import StepResult, Summary
from eosfw.pipeline.verification import Verification

__all__ = [
    "ClusterChoice",
    "LocalRun",
    "Options",
    "Pipeline",
    "Reporter",
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
