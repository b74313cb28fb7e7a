"""Pipeline files: syntax and error messages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eosfw.errors import ConfigError
from eosfw.pipeline import Pipeline, load
from eosfw.pipeline.definition.parsing import load_with_problems
from eosfw.protocols import StepInput

Load = Callable[[str], Pipeline]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    def read(text: str) -> Pipeline:
        path = tmp_path / "flow.toml"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return read


def refused(loaded: Load, text: str) -> str:
    with pytest.raises(ConfigError) as message:
        loaded(text)
    return str(message.value)


def test_quoted_and_bare_dotted_properties_are_the_same(loaded: Load) -> None:
    pipeline = loaded(
        '[worker]\n"group.id" = "g"\nproducer.linger.ms = 5\n[connectors.a]\n"tasks.max" = 2\ncsv.header = true'
    )

    assert pipeline.worker["group.id"] == "g"
    assert pipeline.worker["producer.linger.ms"] == "5"
    assert pipeline.connectors["a"] == {"tasks.max": "2", "csv.header": "true"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('transaction.boundary = "interval"', "transaction.boundary.interval.ms = 5"),
        ("transaction.boundary.interval.ms = 5", 'transaction.boundary = "interval"'),
    ],
)
def test_a_clash_of_bare_dots_names_file_line_and_the_quoted_spelling(loaded: Load, first: str, second: str) -> None:
    """TOML cannot hold both bare keys, and its own message does not say what to write instead."""
    message = refused(loaded, f"[worker]\ngroup.id = 'g'\n[connectors.a]\n{first}\ntopic = 't'\n{second}\n")

    assert "flow.toml:6: " in message
    assert '"transaction.boundary" = "interval"' in message
    assert '"transaction.boundary.interval.ms" = 5' in message


def test_a_property_given_twice_says_so(loaded: Load) -> None:
    assert "flow.toml:3: topic is given twice" in refused(loaded, "[connectors.a]\ntopic = 'x'\ntopic = 'y'\n")

    both = refused(loaded, '[worker]\n"group.id" = "g"\ngroup.id = "h"\n')
    assert '[worker]: "group.id" is given twice, once quoted and once with bare dots' in both


@pytest.mark.parametrize(
    ("text", "line"), [("[worker\n", 1), ("[worker]\na = \n", 2), ("[worker]\na = 'x\n", 2), ("a = 1\nb", 2)]
)
def test_invalid_toml_is_reported_with_its_line(loaded: Load, text: str, line: int) -> None:
    assert f"flow.toml:{line}: not valid TOML" in refused(loaded, text)


def test_a_file_without_end_is_refused() -> None:
    """A device, or data by mistake, would take all memory."""
    with pytest.raises(ConfigError, match=r"/dev/zero: cannot be read: File too large$"):
        load(Path("/dev/zero"))


def test_a_file_that_is_missing_or_unreadable_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: there is no such file"):
        load(tmp_path / "nowhere.toml")
    with pytest.raises(ConfigError, match=r"cannot be read: Is a directory$"):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    with pytest.raises(ConfigError, match=r"is no UTF-8$"):
        load(tmp_path / "latin.toml")


def test_deep_nesting_is_refused_not_a_crash(loaded: Load) -> None:
    assert "nested too deeply" in refused(loaded, "a = " + "[" * 100_000 + "]" * 100_000)


def test_a_byte_order_mark_is_no_error(loaded: Load) -> None:
    assert loaded("\ufeff[worker]\ngroup.id = 'g'").worker["group.id"] == "g"


def test_values_become_texts(loaded: Load) -> None:
    pipeline = loaded("[connectors.a]\nfile = ['x', 'y']\nratio = 0.5\nflag = false")

    assert pipeline.connectors["a"] == {"file": "x,y", "ratio": "0.5", "flag": "false"}


@pytest.mark.parametrize("value", ["1979-05-27", "[[1]]", "[{a = 1}]", "['a,b']"])
def test_a_value_that_is_no_text_is_refused(loaded: Load, value: str) -> None:
    assert '[connectors.a]: "x" ' in refused(loaded, f"[connectors.a]\nx = {value}")


def test_exactly_once_is_on_unless_the_file_says_otherwise(loaded: Load) -> None:
    """Exactly-once is the default."""
    assert loaded("[worker]").worker["exactly.once.source.support"] == "enabled"
    assert "exactly.once.source.support" not in loaded("[worker]\n'exactly.once.source.enabled' = false").worker


def test_the_address_may_stand_with_the_worker_as_in_kafka_connect(loaded: Load) -> None:
    pipeline = loaded("[worker]\n'bootstrap.servers' = 'h:1'")

    assert pipeline.cluster.external
    assert pipeline.cluster.properties == {"bootstrap.servers": "h:1"}
    assert "different bootstrap.servers" in refused(
        loaded, "[worker]\n'bootstrap.servers' = 'h:1'\n[cluster]\n'bootstrap.servers' = 'h:2'"
    )


STEP = '[[steps]]\nname = "s"\noutput = "o"\n'


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ('inputs = "a-b"', [StepInput("a_b", "a-b")]),
        ('inputs = ["a", "b"]', [StepInput("a", "a"), StepInput("b", "b")]),
        ('inputs = { t = "a" }', [StepInput("t", "a")]),
        ('inputs.t = { topic = "a", format = "json", schema = "x INT" }', [StepInput("t", "a", "json", "x INT")]),
        ('inputs.t = { topic = "a", format = "csv", schema = "x INT" }', [StepInput("t", "a", "csv", "x INT")]),
    ],
)
def test_step_inputs_accept_a_string_a_list_or_a_table(loaded: Load, inputs: str, expected: list[StepInput]) -> None:
    (step,) = loaded(f"{STEP}sql = 'x'\n{inputs}").steps

    assert list(step.inputs) == expected
    assert (step.name, step.output, step.sql, step.function) == ("s", "o", "x", None)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("sql = 'x'", "step 's': needs 'inputs'"),
        ("inputs = ['t']", "needs either 'sql', a text, or 'function'"),
        ("inputs = ['t']\nsql = 'x'\nfunction = 'm:f'", "needs either 'sql', a text, or 'function'"),
        ("inputs = ['t']\nfunction = 'mf'", "must be written module:name"),
        ("inputs = ['t']\nsqll = 'x'", "unknown key 'sqll'; did you mean 'sql'?"),
        ("inputs.t = { topik = 'a' }\nsql = 'x'", "unknown key 'topik'; did you mean 'topic'?"),
        ("inputs.t = { topic = 'a', format = 'csv' }\nsql = 'x'", "has the format 'csv' but no 'schema'"),
        ("inputs.t = { topic = 'a', format = 'xml', schema = 'x' }\nsql = 'x'", "format 'xml' is unknown"),
        ("inputs.'a b' = 'a'\nsql = 'x'", "is no name for a table"),
        ("inputs = []\nsql = 'x'", "needs 'inputs'"),
    ],
)
def test_a_step_that_cannot_be_understood_is_named(loaded: Load, lines: str, message: str) -> None:
    assert message in refused(loaded, STEP + lines)


BARE = '[[steps]]\nname = "s"\ninputs = "t"\nsql = "x"\n'


@pytest.mark.parametrize(
    ("lines", "target", "kind"),
    [
        ("output = 'o'", "o", "parquet"),
        ("output = { path = 'o', format = 'csv' }", "o", "csv"),
        ("output = { topic = 'c' }", "c", "topic"),
        ("output.format = 'console'", "", "console"),
        ("output = { table = 'db.t', format = 'iceberg' }", "db.t", "iceberg"),
        ("output = { path = 'd', format = 'delta' }", "d", "delta"),
    ],
)
def test_an_output_is_a_folder_a_topic_a_table_or_the_console(loaded: Load, lines: str, target: str, kind: str) -> None:
    (step,) = loaded(BARE + lines).steps

    assert (step.output, step.output_format, step.streaming) == (target, kind, False)


@pytest.mark.parametrize("name", ["..", "../other", "a\\\\b"])
def test_a_streaming_step_keeps_its_progress_within_the_pipelines_folder(loaded: Load, name: str) -> None:
    with pytest.raises(ConfigError, match="has a name that cannot be a folder's"):
        loaded(f"[[steps]]\nname = '{name}'\ninputs = 't'\nsql = 'x'\ntrigger = '1 hour'\noutput = 'o'")


@pytest.mark.parametrize("trigger", ["available-now", "5 seconds", "1 minute", "500 milliseconds"])
def test_a_trigger_makes_a_streaming_step(loaded: Load, trigger: str) -> None:
    lines = f"trigger = '{trigger}'\ncheckpoint = 'c'\noutput.topic = 'o'\noutput.mode = 'update'"
    (step,) = loaded(BARE + lines).steps

    assert step.streaming
    assert (step.trigger, step.checkpoint, step.output_mode) == (trigger, "c", "update")


def test_options_of_the_sink_are_no_output_mode(loaded: Load) -> None:
    """The sink has an option `mode`, too."""
    (step,) = loaded(f"{BARE}trigger = '1 second'\noutput.topic = 'c'\noutput.options.mode = 'parallel'").steps

    assert (step.output_mode, step.output_options) == (None, {"mode": "parallel"})


def test_a_streaming_input_takes_options_of_its_reader(loaded: Load) -> None:
    lines = "trigger = '1 second'\noutput = 'o'\nsql = 'x'\n[steps.inputs.t]\ntopic = 'a'\n"
    (step,) = loaded(f"[[steps]]\nname = 's'\n{lines}options.maxOffsetsPerTrigger = 5").steps

    assert list(step.inputs) == [StepInput("t", "a", options={"maxOffsetsPerTrigger": "5"})]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "needs 'output'"),
        ("output = 5", "needs 'output'"),
        ("output.pth = 'o'", "unknown key 'pth'; did you mean 'path'?"),
        ("output = { path = 'o', format = 'parkay' }", "output format 'parkay' is unknown"),
        ("output = { path = 'o', format = 'jsn' }", "did you mean 'json'?"),
        ("output = { topic = 'o', format = 'csv' }", "output format 'csv' needs 'path' alone"),
        ("output.format = 'topic'", "output format 'topic' needs 'topic' alone"),
        ("output = { format = 'console', path = 'o' }", "has no path, topic or table"),
        ("output = { path = 'o', options = 5 }", "'options' must be a table"),
        ("output = { topic = 'o', mode = 'updte' }\ntrigger = '1 second'", "did you mean 'update'?"),
        ("output = { path = 'o', mode = 'complete' }\ntrigger = '1 second'", "the format 'parquet' takes: append"),
        ("output = { path = 'o', mode = 'append' }", "a batch step replaces its output"),
        ("output = 'o'\ntrigger = '5 secnds'", "did you mean '5 seconds'?"),
        ("output = 'o'\ntrigger = 'availablenow'", "did you mean 'available-now'?"),
        ("output = 'o'\ntrigger = '0 seconds'", 'must be an interval, such as "5 seconds", or "available-now"'),
        ("output = 'o'\ntrigger = 5", "'trigger' must be a text"),
        ("output = 'o'\ntrigger = '5 fortnights'", "its units are: milliseconds, seconds"),
        ("output = 'o'\ncheckpoint = 'c'", "has a 'checkpoint' but no 'trigger'"),
    ],
)
def test_a_wrong_output_or_trigger_is_explained(loaded: Load, lines: str, message: str) -> None:
    assert message in refused(loaded, BARE + lines)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ("output = 's3a://bucket/rows'", "output 's3a://bucket/rows'"),
        ("output = { path = 'file:///rows', format = 'delta' }", "output 'file:///rows'"),
        ("output = 'o'\ntrigger = '1 hour'\ncheckpoint = 'hdfs://node/c'", "checkpoint 'hdfs://node/c'"),
    ],
)
def test_a_uri_is_not_taken_for_a_folder_beside_the_file(loaded: Load, lines: str, what: str) -> None:
    """The rows would lie in a folder `s3a:` that nobody looks into."""
    assert f"{what} is a URI: a step keeps its files in a folder of this machine" in refused(loaded, BARE + lines)


@pytest.mark.parametrize(
    ("lines", "message"),
    [("reader = 'spark-kafak'", "did you mean 'spark-kafka'?"), ("options = 'a'", "'options' must be a table")],
)
def test_a_wrong_key_of_an_input_is_explained(loaded: Load, lines: str, message: str) -> None:
    head = "[[steps]]\nname = 's'\nsql = 'x'\noutput = 'o'\n[steps.inputs.t]\ntopic = 'a'\n"

    assert message in refused(loaded, head + lines)


def steps_of(*lines: str) -> str:
    return "".join(f"[[steps]]\nname = '{number}'\nsql = 'x'\n{each}\n" for number, each in enumerate(lines))


def test_two_steps_cannot_share_a_checkpoint_or_a_topic(loaded: Load) -> None:
    same = "inputs = 't'\ntrigger = '1 hour'\ncheckpoint = 'c'\noutput.topic = 'o'"
    message = refused(loaded, steps_of(same, same))

    assert "two steps have the checkpoint 'c'" in message
    assert "two steps have the output topic 'o'" in message
    folder = "inputs = 't'\noutput = 'o'"
    assert len(loaded(steps_of(folder, same)).steps) == 2


def test_steps_must_not_feed_each_other_in_a_circle(loaded: Load) -> None:
    ahead = "trigger = '1 hour'\ninputs = 'a'\noutput.topic = 'b'"
    back = "trigger = '1 hour'\ninputs = 'b'\noutput.topic = 'a'"

    assert "read each other's topics in a circle" in refused(loaded, steps_of(ahead, back))
    itself = "trigger = '1 hour'\ninputs = 'a'\noutput.topic = 'a'"
    assert "in a circle" in refused(loaded, steps_of(itself))


def test_two_steps_cannot_share_a_name_or_an_output(loaded: Load) -> None:
    step = f"{STEP}inputs = ['t']\nsql = 'x'\n"
    message = refused(loaded, step + step)

    assert "two steps have the name 's'" in message
    assert "two steps have the output 'o'" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("worker = 1", "'worker' must be a table: [worker]"),
        ("[connectors]\na = 1", "'a' is not a table; name each connector: [connectors.NAME]"),
        ("[steps]\nname = 'x'", "each beginning with [[steps]]"),
        ("[conectors.a]\nx = 1", "unknown key 'conectors'; did you mean 'connectors'?"),
        ("engine = 5", "'engine' must be a text"),
    ],
)
def test_a_misplaced_section_is_reported_with_its_right_place(loaded: Load, text: str, message: str) -> None:
    assert message in refused(loaded, text)


def test_valid_sections_are_kept_beside_reported_problems(tmp_path: Path) -> None:
    """The check reports both problems; steps are checked further once all of them can be read."""
    path = tmp_path / "flow.toml"
    path.write_text(f"[clster]\n[connectors.a]\ntopic = 't'\n{STEP}")
    pipeline = load_with_problems(path)

    assert "did you mean 'cluster'?" in str(pipeline.problems[0])
    assert "step 's'" in str(pipeline.problems[1])
    assert pipeline.connectors == {"a": {"topic": "t"}}
    assert pipeline.steps == ()


@pytest.mark.parametrize("text", ["required", "try", "off"])
def test_a_file_says_whether_it_is_verified(loaded: Load, text: str) -> None:
    pipeline = loaded(f'verify = "{text}"\n[worker]\n')

    assert pipeline.verify is not None
    assert pipeline.verify.value == text
    assert loaded("[worker]\n").verify is None


@pytest.mark.parametrize(
    ("text", "why"), [('"requird"', "unknown 'requird'; did you mean 'required'?"), ("true", "must be a text")]
)
def test_an_unknown_verification_is_refused(loaded: Load, text: str, why: str) -> None:
    assert why in refused(loaded, f"verify = {text}\n[worker]\n")
