"""The whole of a pipeline is checked before its first task starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, PluginError
from eosfw.pipeline import ClusterChoice, Options, Pipeline, check
from eosfw.pipeline.definition.validation import backend_of, pipeline_problems
from eosfw.protocols import Step, StepInput
from eosfw.registry import Plugins
from eosfw.registry.lookup import PluginSource, RegisteredPlugin

Make = Callable[..., Pipeline]
EMBEDDED = ClusterChoice("confluent", {})


class NoJava:
    """A step engine that cannot start here."""

    name = "nojava"

    @classmethod
    def problems(cls, steps: Any, folder: str) -> Any:
        from eosfw.errors import Problem

        return [Problem("", "no Java 17 was found")]


@pytest.fixture
def engines(plugins: Plugins) -> Plugins:
    """What is installed, with that engine: nobody asks it to start Java."""
    return Plugins((*plugins._found, RegisteredPlugin("step engine", NoJava, PluginSource("x", "1", "x"))), ())  # type: ignore[arg-type]


def step(topic: str) -> Step:
    return Step("s", [StepInput("t", topic)], "out", sql="SELECT * FROM t")


def problem_text(pipeline: Pipeline, plugins: Plugins, **options: Any) -> str:
    with pytest.raises(ConfigError) as problems:
        check(pipeline, plugins, ThreadRuntime(), Options(**options))
    return str(problems.value)


def test_a_good_pipeline_passes(pipeline: Make, plugins: Plugins) -> None:
    flows = [pipeline(), replace(pipeline(), cluster=EMBEDDED)]
    for flow in flows:
        check(flow, plugins, ThreadRuntime())

    assert [pipeline_problems(flow, plugins, ThreadRuntime(), steps_only=False) for flow in flows] == [[], []]


def test_steps_that_cannot_run_are_reported_before_anything_starts(pipeline: Make, engines: Plugins) -> None:
    flow = pipeline()
    flow = replace(flow, steps=[step(flow.connectors["c"]["topic"])], engine="nojava")

    assert "no Java 17 was found" in problem_text(flow, engines)


def test_an_input_that_another_reader_than_the_chosen_one_would_show_is_refused(
    pipeline: Make, engines: Plugins
) -> None:
    """The chosen one may mask or leave out what nobody is to see."""
    flow = pipeline()
    inputs = [StepInput("t", flow.connectors["c"]["topic"], reader="spark-kafka")]
    flow = replace(flow, steps=[Step("s", inputs, "out", sql="SELECT * FROM t")], engine="nojava")
    chosen = replace(flow, worker={**flow.worker, "isolation.reader": "read_uncommitted"})

    assert "step 's': input t" not in problem_text(flow, engines)
    assert "step 's': input t has the reader 'spark-kafka'" in (found := problem_text(chosen, engines))
    assert "isolation.reader=read_uncommitted" in found


@pytest.mark.spark
def test_an_unwritten_topic_suggests_the_nearest_name(pipeline: Make, plugins: Plugins) -> None:
    flow = replace(pipeline(topic="orders"), cluster=EMBEDDED, steps=[step("ordres")])

    assert "step 's': reads topic 'ordres', which does not exist" in problem_text(flow, plugins)
    assert "did you mean 'orders'?" in problem_text(flow, plugins)


@pytest.mark.spark
def test_an_external_cluster_is_asked_for_its_topics(pipeline: Make, plugins: Plugins) -> None:
    assert "reads topic 'nowhere', which does not exist" in problem_text(
        replace(pipeline(), steps=[step("nowhere")]), plugins
    )


def test_a_pipeline_without_connectors_is_reported(pipeline: Make, plugins: Plugins) -> None:
    assert "has no connectors" in problem_text(replace(pipeline(), connectors={}), plugins)


def test_steps_alone_need_steps_and_a_cluster_that_kept_something(pipeline: Make, plugins: Plugins) -> None:
    problem = problem_text(replace(pipeline(), cluster=EMBEDDED), plugins, steps_only=True)

    assert "has no steps to run alone" in problem
    assert "set bootstrap.servers" in problem


def test_the_properties_of_an_embedded_broker_are_for_runs_that_start_one(pipeline: Make, plugins: Plugins) -> None:
    assert "remove it" in problem_text(replace(pipeline(), broker={"a": "b"}), plugins)


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (ClusterChoice("conflunt", {}), "Did you mean 'confluent'?"),
        (ClusterChoice("confluent", {"bootstrap.servers": "h:1", "sasl.mechansm": "x"}), "sasl.mechansm"),
    ],
)
def test_a_client_that_cannot_be_created_is_reported(
    pipeline: Make, plugins: Plugins, cluster: ClusterChoice, words: str
) -> None:
    assert words in problem_text(replace(pipeline(), cluster=cluster), plugins)


def test_a_missing_embedded_cluster_is_reported(pipeline: Make, plugins: Plugins) -> None:
    assert "no cluster 'other'" in problem_text(
        replace(pipeline(), cluster=EMBEDDED, broker={"name": "other"}), plugins
    )


def test_a_run_that_serves_its_cluster_takes_that_clusters_own_client(pipeline: Make, plugins: Plugins) -> None:
    """The default: direct calls; a cluster of others has to be given a client by name where several are installed."""
    assert backend_of(replace(pipeline(), cluster=ClusterChoice(None, {})), plugins).name == "memory"
    with pytest.raises(PluginError, match="name the client of the cluster"):
        backend_of(replace(pipeline(), cluster=ClusterChoice(None, {"bootstrap.servers": "h:1"})), plugins)


@pytest.mark.parametrize(
    ("backend", "servers"),
    [("memory", "127.0.0.1"), ("confluent", ",,"), ("kafka-python", "localhost:0"), ("confluent", "a:1,b")],
)
def test_a_malformed_address_is_refused_immediately_on_every_backend(
    pipeline: Make, plugins: Plugins, backend: str, servers: str
) -> None:
    """Some clients would wait for it."""
    flow = pipeline(backend=backend, address=servers)

    assert problem_text(flow, plugins) == (
        f'flow.toml [cluster]: "bootstrap.servers" = "{servers}": write HOST:PORT, with a port between 1 and 65535'
    )


def streaming(name: str, **more: Any) -> Step:
    return Step(name, [StepInput("t", "in")], more.pop("output", name), sql="SELECT 1", trigger="1 second", **more)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([streaming("a", checkpoint="c"), streaming("b", checkpoint="./c")], "that of step 'a'"),
        ([streaming("a"), streaming("b", checkpoint="checkpoints/a")], "that of step 'a'"),
        ([streaming("a", checkpoint="a")], "the output of step 'a' overlap"),
        ([streaming("a", checkpoint="a/c")], "the output of step 'a' overlap"),
        ([streaming("a", checkpoint="c", output="c/a")], "the output of step 'a' overlap"),
        ([step("in"), streaming("b", checkpoint="out/c")], "the output of step 's' overlap"),
    ],
)
def test_a_checkpoint_is_a_folder_of_its_own(pipeline: Make, engines: Plugins, steps: list[Step], message: str) -> None:
    """Bad input: one folder in two spellings, or Spark's notes among rows."""
    assert message in problem_text(replace(pipeline(topic="in"), steps=steps, engine="nojava"), engines)


@pytest.mark.parametrize(
    ("topic", "message"),
    [
        ("a b", "cannot name a topic"),
        ("__consumer_offsets", "is a topic of the cluster's own"),
        ("OWN-offsets", "is the worker's own offset.storage.topic"),
    ],
)
def test_a_step_cannot_write_to_a_topic_of_others_or_one_that_cannot_be(
    pipeline: Make, engines: Plugins, topic: str, message: str
) -> None:
    """TXN-15: found before the connectors run, not after."""
    flow = pipeline(topic="in")
    wrong = streaming("a", output=topic.replace("OWN", flow.worker["group.id"]), output_format="topic")

    assert message in problem_text(replace(flow, steps=[wrong], engine="nojava"), engines)


@pytest.mark.parametrize(
    ("section", "name", "message"),
    [
        ("worker", "producer.bootstrap.servers", "would take the clients of every connector to another cluster"),
        ("connector", "producer.override.bootstrap.servers", "a run reads and verifies its topics on one cluster"),
    ],
)
def test_a_producer_with_a_cluster_of_its_own_is_refused(
    pipeline: Make, plugins: Plugins, section: str, name: str, message: str
) -> None:
    """OFF-06: a second run would read its offsets at home, and send everything to the other cluster again."""
    flow = pipeline()
    given = {name: "127.0.0.1:9"}
    worker, connectors = {**flow.worker}, {"c": {**flow.connectors["c"]}}
    (worker if section == "worker" else connectors["c"]).update(given)

    assert message in problem_text(replace(flow, worker=worker, connectors=connectors), plugins)
