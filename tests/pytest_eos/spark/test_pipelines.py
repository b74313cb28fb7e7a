"""A whole pipeline runs under a zombie, and what its steps wrote is judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pytest_eos.broken import IdleFencer
from tests.pytest_eos.broken_offsets import OffsetsAtOnce
from tests.pytest_eos.counter import CounterConnector

from eosfw.errors import ConfigError, StepFailedError

FILE = """\
[worker]
"group.id" = "production"

[connectors.orders]
"connector.class" = "file"
file = "orders.jsonl"
format = "jsonl"
topic = "orders"
"batch.size" = 10
"tasks.max" = 2

[[steps]]
name = "by city"
inputs.orders = { topic = "orders", format = "json", schema = "city STRING, id INT" }
sql = "SELECT city, count(*) AS orders, count(DISTINCT id) AS ids FROM orders GROUP BY city"
output = "output/by-city"

[[steps]]
name = "all"
inputs.orders = { topic = "orders", format = "json", schema = "city STRING, id INT" }
sql = "SELECT id, city FROM orders"
output = "output/all"
"""
CITIES = ("Berlin", "Wien", "Bern")
BY_CITY = [{"city": city, "orders": 20, "ids": 20} for city in CITIES]
COUNTS = {
    "connectors": {"counts": {"connector.class": CounterConnector, "streams": 2, "topic": "counts", "tasks.max": 2}},
    "steps": [
        {
            "name": "values",
            "inputs": ["counts"],
            "sql": "SELECT cast(value AS string) AS number FROM counts",
            "output": "values",
        }
    ],
}
EXPECTED = [{"number": f"s{stream}:{number}"} for stream in range(2) for number in range(24)]


@pytest.fixture
def file(tmp_path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    lines = (f'{{"id": {number}, "city": "{CITIES[number % 3]}"}}\n' for number in range(60))
    (folder / "orders.jsonl").write_text("".join(lines))
    (folder / "orders.toml").write_text(FILE)
    return folder / "orders.toml"


@pytest.mark.spark
@pytest.mark.ci
@pytest.mark.timeout(600)
class TestWithSteps:
    @pytest.mark.eos_zombie(at="commit")
    def test_sparks_result_of_a_run_with_zombies_is_exactly_once(self, eos, eos_spark, file, tmp_path):
        """A file as `eosfw run` takes it, but it writes nowhere else, and joins no group of production's."""
        run = eos.run_pipeline(file)

        eos.assert_exactly_once(run.output("by city"), expected=BY_CITY)
        eos.assert_exactly_once(run.output("all"), expected=range(60), key="id")
        eos.assert_exactly_once(run.connector(), expected=run.connector("orders").source_records())
        assert run.output("all").rows == 60
        assert tmp_path in run.output("all").path.parents
        assert not (file.parent / "output").exists()
        assert run.connector().group.name != "production"

    @pytest.mark.eos_zombie(at="send-offsets")
    def test_duplicates_of_a_zombie_are_found_in_what_spark_wrote(self, eos, eos_spark):
        """A fencer broken on purpose: no zombie is fenced, so its successor's records are duplicated."""
        eos.use(fencer=IdleFencer)
        run = eos.run_pipeline(COUNTS)

        with pytest.raises(AssertionError) as found:
            eos.assert_exactly_once(run.output(), expected=EXPECTED)

        assert str(found.value).startswith("the output of step values is not exactly once: 4 duplicates, 0 missing")
        assert "s1:4: 2 times" in str(found.value)

    @pytest.mark.eos_zombie(at="commit")
    def test_losses_are_found_in_what_spark_wrote(self, eos, eos_spark):
        """A part that is broken on purpose: offsets outside the transaction."""
        eos.use(wrap_backend=OffsetsAtOnce)
        run = eos.run_pipeline(COUNTS, zombie="counts")

        with pytest.raises(AssertionError, match=r"the output of step values .* 0 duplicates, 4 missing"):
            eos.assert_exactly_once(run.output("values"), expected=EXPECTED)
        with pytest.raises(AssertionError, match="4 missing"):
            eos.assert_exactly_once(run.output("values"), expected=[row["number"] for row in EXPECTED], key="number")

    def test_a_step_that_fails_is_named(self, eos, eos_spark):
        """Bad input: it went through the check, Spark refuses it."""
        steps = [{**COUNTS["steps"][0], "sql": "SELECT nothing FROM counts"}]

        with pytest.raises(StepFailedError, match="step values failed"):
            eos.run_pipeline({**COUNTS, "steps": steps})

    def test_steps_and_columns_that_are_not_there_are_refused(self, eos, eos_spark):
        """Bad input: with what there is."""
        run = eos.run_pipeline(COUNTS)

        with pytest.raises(pytest.UsageError, match="the pipeline has no step 'value'; did you mean 'values'"):
            run.output("value")
        with pytest.raises(ValueError, match="has no column 'numbers'; did you mean 'number'"):
            eos.assert_exactly_once(run.output(), expected=[{"numbers": "s0:0"}])
        with pytest.raises(ValueError, match="lacks number, which others have"):
            eos.assert_exactly_once(run.output(), expected=[{"number": "s0:0"}, {"value": "s0:1"}])
        with pytest.raises(ValueError, match="has value, which others lack"):
            eos.assert_exactly_once(run.output(), expected=[{"number": "s0:0"}, {"number": "s0:1", "value": "x"}])


@pytest.mark.eos_zombie(at="all")
def test_a_pipeline_without_steps_lives_in_virtual_time(eos, file):
    """So its author need not wait for Spark to see that its connectors are exactly once."""
    run = eos.run_pipeline(file, steps=False)

    assert eos.cluster.virtual
    assert run.outputs == {}
    eos.assert_exactly_once(run.connector("orders"), expected=run.connector().source_records())


@pytest.mark.eos_zombie(at="commit")
def test_each_of_several_connectors_is_there(eos):
    """The zombie is one of the second's tasks."""
    two = {name: {**COUNTS["connectors"]["counts"], "topic": name} for name in ("first", "second")}

    run = eos.run_pipeline({"connectors": two}, zombie="second")

    for name in two:
        assert len(list(eos.topic(name).records())) == 48
    assert "second" in str(eos.zombies.made[0])
    assert sorted(run.runs) == ["first", "second"]


def test_steps_without_spark_in_the_arguments_are_refused_at_once(eos):
    """Bad input: before anything runs."""
    with pytest.raises(pytest.UsageError, match="leave them out by `steps=False`, or ask for the fixture `eos_spark`"):
        eos.run_pipeline(COUNTS)

    assert not eos.history.events()


def test_a_file_that_is_wrong_is_refused_with_all_that_is_wrong(eos, file):
    """Bad input: as `eosfw run --check` says it."""
    file.write_text(FILE.replace("sql", "sqll").replace("[worker]", "[workers]"))

    with pytest.raises(ConfigError) as found:
        eos.run_pipeline(file)

    assert "unknown key 'workers'; did you mean 'worker'?" in str(found.value)
    assert "unknown key 'sqll'; did you mean 'sql'?" in str(found.value)
