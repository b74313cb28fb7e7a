"""The order of steps by the topics through which they follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from eosfw.protocols import Step


def in_order(steps: Sequence[Step]) -> list[Step]:
    """The steps so that each comes behind those whose output topics it reads; otherwise as in the file."""
    by_name = {step.name: step for step in steps}
    return [by_name[name] for name in _sorter(steps).static_order()]


def step_circles(steps: Sequence[Step]) -> list[list[str]]:
    """The names of steps that wait for each other; one circle at most is reported."""
    try:
        _sorter(steps).prepare()
    except CycleError as circle:
        return [list(dict.fromkeys(circle.args[1]))]
    return []


def output_topics(steps: Sequence[Step]) -> dict[str, str]:
    """The topics that steps write, each with its step's name."""
    return {step.output: step.name for step in steps if step.output_format == "topic"}


def _sorter(steps: Sequence[Step]) -> TopologicalSorter[str]:
    writers = output_topics(steps)
    return TopologicalSorter(
        {step.name: [writers[each.topic] for each in step.inputs if each.topic in writers] for step in steps}
    )
