"""A pipeline's streaming step as a query that a driver under test runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from eosfw.config.parts import PartChoice
from eosfw.pipeline import LocalRun, Pipeline
from eosfw.protocols import Step, StepInput, StepQuery
from eosfw.registry import load_plugins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = f"{__name__}:start"


def as_options(step: Step, pipeline: Pipeline, local: LocalRun) -> dict[str, str]:
    """What the driver needs to start the step, in plain values."""
    facts = {
        "step": asdict(step),
        "engine": pipeline.engine,
        "backend": local.backend_name,
        "properties": dict(local.client_properties),
        "folder": str(pipeline.folder),
        "reader": asdict(local.reader_choice),
    }
    return {"step": json.dumps(facts)}


def start(_: SparkSession, options: Mapping[str, str]) -> StepQuery:
    """Start the step in the session of this process, on its own checkpoint."""
    facts = json.loads(options["step"])
    given = facts["step"]
    step = Step(**{**given, "inputs": [StepInput(**each) for each in given["inputs"]]})
    engine = load_plugins().step_engine(facts["engine"])
    running = engine.start(facts["backend"], facts["properties"], facts["folder"], PartChoice(**facts["reader"]))
    return running.start_query(step, step.checkpoint, follow=False)
