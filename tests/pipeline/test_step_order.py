"""The order of steps that feed each other through topics."""

from __future__ import annotations

from eosfw.pipeline.definition.step_order import in_order, output_topics
from eosfw.protocols import Step, StepInput


def step(name: str, reads: list[str], writes: str | None = None) -> Step:
    inputs = [StepInput(topic, topic) for topic in reads]
    if writes is None:
        return Step(name, inputs, f"out/{name}", sql="x")
    return Step(name, inputs, writes, sql="x", output_format="topic", trigger="1 second")


def test_a_step_comes_behind_those_whose_topics_it_reads() -> None:
    last, middle, first = step("last", ["b", "a"]), step("middle", ["a"], "b"), step("first", ["source"], "a")

    assert [each.name for each in in_order([last, middle, first])] == ["first", "middle", "last"]
    assert output_topics([last, middle, first]) == {"b": "middle", "a": "first"}


def test_independent_steps_keep_their_order() -> None:
    steps = [step(name, ["source"]) for name in "dbca"]

    assert list(in_order(steps)) == steps


def test_a_folder_named_like_a_topic_feeds_nobody() -> None:
    steps = [step("reader", ["out/writer"]), step("writer", ["source"])]

    assert list(in_order(steps)) == steps
