"""The parser of pipeline files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eosfw.config.definition.config_def import nearest
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.worker import ALIAS, SUPPORT
from eosfw.errors import ConfigError, Problem
from eosfw.pipeline.definition.model import FOLDER_FORMATS, ClusterChoice, Pipeline, Verification, parse_verification
from eosfw.pipeline.definition.step_order import step_circles
from eosfw.pipeline.definition.toml_file import flat_properties, read_toml
from eosfw.protocols import AVAILABLE_NOW, OUTPUT_FORMATS, OUTPUT_MODES, Step, StepInput

SECTIONS = ("cluster", "broker", "worker", "connectors", "engine", "steps", "verify")
_STEP = ("name", "inputs", "sql", "function", "output", "trigger", "checkpoint")
_INPUT = ("topic", "format", "schema", "reader", "options")
_INPUT_FORMATS = ("json", "csv", "avro", "protobuf")
_READERS = ("eosfw", "spark-kafka")
_OUTPUT = ("path", "topic", "table", "format", "mode", "options")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_TRIGGER = re.compile(r"([1-9]\d*) (\w+)")
_UNITS = ("milliseconds", "seconds", "minutes", "hours")


def load(path: str | Path) -> Pipeline:
    """Read a pipeline file; ConfigError with everything that is wrong with how it is written."""
    pipeline = load_with_problems(path)
    if pipeline.problems:
        raise ConfigError(*pipeline.problems)
    return pipeline


def load_with_problems(path: str | Path) -> Pipeline:
    """Read a pipeline file; what is wrong with how it is written stands in `problems`, beside what could be read."""
    path = Path(path).resolve()
    return parse(read_toml(path), path)


def parse(document: Mapping[str, Any], path: Path) -> Pipeline:
    """Read a parsed document as a pipeline, with the problems that were found."""
    file = _Section(path.name, [])
    file.only(document, SECTIONS)
    cluster = file.properties(document, "cluster")
    worker = file.properties(document, "worker")
    _move_address(file, worker, cluster)
    if SUPPORT not in worker and ALIAS not in worker:
        worker[SUPPORT] = "enabled"  # the default of pipeline files, unlike Kafka Connect's
    worker = {**LOCAL_FILE_POLICY, **worker}
    pipeline = Pipeline(
        path=path,
        cluster=ClusterChoice(cluster.pop("backend", None), cluster),
        broker=file.properties(document, "broker"),
        worker=worker,
        connectors=_connectors(file, document),
        steps=_steps(file, document),
        engine=file.text(document, "engine"),
        verify=_verification(file, document),
    )
    return replace(pipeline, problems=tuple(file.problems))


def _move_address(file: _Section, worker: dict[str, str], cluster: dict[str, str]) -> None:
    # Kafka Connect's worker files name the cluster here.
    address = worker.pop("bootstrap.servers", None)
    if address is not None and cluster.setdefault("bootstrap.servers", address) != address:
        file.problem("[cluster] and [worker] name different bootstrap.servers: keep the one in [cluster]")


class _Section:
    """A place in the file, with the problems that were found there and elsewhere."""

    def __init__(self, where: str, problems: list[Problem]) -> None:
        self.where = where
        self.problems = problems

    def at(self, name: str) -> _Section:
        return _Section(f"{self.where} {name}", self.problems)

    def problem(self, what: str) -> None:
        self.problems.append(Problem(self.where, what))

    def only(self, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for name in table:
            if name not in known:
                near = nearest(name, known)
                hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
                self.problem(f"unknown key {name!r}; {hint}")

    def table(self, holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        value = holder.get(name, {})
        if isinstance(value, Mapping):
            return value
        self.problem(f"{name!r} must be a table: [{name}]")
        return {}

    def properties(self, document: Mapping[str, Any], name: str) -> dict[str, str]:
        return flat_properties(self.table(document, name), f"{self.where} [{name}]", self.problems)

    def text(self, table: Mapping[str, Any], name: str) -> str | None:
        value = table.get(name)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.problem(f"{name!r} must be a text that is not empty")
        return None


def _verification(file: _Section, document: Mapping[str, Any]) -> Verification | None:
    text = file.text(document, "verify")
    try:
        return None if text is None else parse_verification(text)
    except ValueError as why:
        file.at("verify").problem(str(why))
        return None


def _connectors(file: _Section, document: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    found = {}
    for name, table in file.table(document, "connectors").items():
        place = file.at(f"[connectors.{name}]")
        if isinstance(table, Mapping):
            found[name] = flat_properties(table, place.where, file.problems)
        else:
            file.at("[connectors]").problem(f"{name!r} is not a table; name each connector: [connectors.NAME]")
    return found


def _steps(file: _Section, document: Mapping[str, Any]) -> tuple[Step, ...]:
    tables = document.get("steps", [])
    if not isinstance(tables, list) or not all(isinstance(one, Mapping) for one in tables):
        file.problem("steps are an array of tables, each beginning with [[steps]]")
        return ()
    before = len(file.problems)
    steps = tuple(_step(file, number, one) for number, one in enumerate(tables, 1))
    for attribute in ("name", "output", "checkpoint"):
        values = [_shown(one, attribute) for one in steps]
        for repeated in sorted({one for one in values if one and values.count(one) > 1}):
            file.problem(f"two steps have the {attribute} {repeated}")
    for circle in step_circles(steps):
        file.problem(f"steps {', '.join(circle)} read each other's topics in a circle")
    return steps if len(file.problems) == before else ()


def _shown(step: Step, attribute: str) -> str | None:
    value: str | None = getattr(step, attribute)
    kind = "topic " if attribute == "output" and step.output_format == "topic" else ""
    return f"{kind}{value!r}" if value else None


def _step(file: _Section, number: int, table: Mapping[str, Any]) -> Step:
    name = table.get("name")
    place = file.at(f"step {name!r}" if isinstance(name, str) and name else f"step {number}")
    place.only(table, _STEP)
    if not place.text(table, "name") and "name" not in table:
        place.problem("has no 'name'")
    sql, function = place.text(table, "sql"), place.text(table, "function")
    if (sql is None) == (function is None):
        place.problem("needs either 'sql', a text, or 'function', as module:name")
    if function is not None and not re.fullmatch(r"[\w.]+:[\w.]+", function):
        place.problem(f"function {function!r} must be written module:name")
    inputs = tuple(_inputs(place, table.get("inputs")))
    output, kind, options = _output(place, table.get("output"))
    trigger, checkpoint = _trigger(place, table), place.text(table, "checkpoint")
    mode = _output_mode(place, table.get("output"), kind)
    step = Step(str(name or number), inputs, output, sql, function, kind, options, trigger, checkpoint, mode)
    for what, folder in (("output", output if kind in FOLDER_FORMATS else ""), ("checkpoint", checkpoint or "")):
        if _URI.match(folder):
            place.problem(
                f"{what} {folder!r} is a URI: a step keeps its files in a folder of this machine, so give a path"
            )
    if "trigger" not in table:
        _without_streaming_keys(place, step)
    elif checkpoint is None and (step.name in (".", "..") or re.search(r"[/\\\0]", step.name)):
        place.problem("has a name that cannot be a folder's, where its progress is kept: name a 'checkpoint' as well")
    return step


def _without_streaming_keys(place: _Section, step: Step) -> None:
    if step.checkpoint is not None:
        place.problem("has a 'checkpoint' but no 'trigger': only a streaming step goes on from one")
    if step.output_mode is not None and (step.output_format, step.output_mode) != ("topic", "append"):
        place.problem("has an output 'mode' but no 'trigger': a batch step replaces its output, or appends to a topic")


def _trigger(place: _Section, table: Mapping[str, Any]) -> str | None:
    trigger = place.text(table, "trigger")
    if trigger is not None and (hint := _trigger_hint(trigger)) is not None:
        place.problem(f'trigger {trigger!r} must be an interval, such as "5 seconds", or "{AVAILABLE_NOW}"{hint}')
    return trigger


def _trigger_hint(trigger: str) -> str | None:
    """What was meant by a trigger that cannot be understood, as far as that is known; None if it can."""
    interval = _TRIGGER.fullmatch(trigger)
    if interval is None:
        near = nearest(trigger, [AVAILABLE_NOW])
        return None if trigger == AVAILABLE_NOW else f"; did you mean {near!r}?" if near else ""
    if interval[2].removesuffix("s") + "s" in _UNITS:
        return None
    near = nearest(interval[2], _UNITS)
    return f"; did you mean '{interval[1]} {near}'?" if near else f"; its units are: {', '.join(_UNITS)}"


def _output_mode(place: _Section, output: Any, kind: str) -> str | None:
    mode = place.text(output, "mode") if isinstance(output, Mapping) else None
    known = OUTPUT_MODES[:1] if kind in ("parquet", "csv", "json") else OUTPUT_MODES
    if mode is not None and mode not in known:
        near = nearest(mode, known)
        hint = f"did you mean {near!r}?" if near else f"the format {kind!r} takes: {', '.join(known)}"
        place.problem(f"output mode {mode!r} is unknown or does not fit; {hint}")
    return mode


def _inputs(place: _Section, value: Any) -> list[StepInput]:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list) and value and all(isinstance(topic, str) and topic for topic in value):
        value = {re.sub(r"\W", "_", topic): topic for topic in value}
    if not isinstance(value, Mapping) or not value:
        place.problem("needs 'inputs': a list of topics, or a table as in inputs.TABLE = { topic = \"...\" }")
        return []
    return [_input(place.at(f"input {table!r}"), table, one) for table, one in value.items()]


def _input(place: _Section, table: str, value: Any) -> StepInput:
    if not table.isidentifier():
        place.problem("is no name for a table: use letters, digits and '_'")
    if isinstance(value, str):
        return StepInput(table, value)
    if not isinstance(value, Mapping):
        place.problem("must be a topic, or a table with 'topic', 'format' and 'schema'")
        return StepInput(table, "")
    place.only(value, _INPUT)
    topic, kind, schema, reader = (place.text(value, key) for key in ("topic", "format", "schema", "reader"))
    options = flat_properties(place.table(value, "options"), f"{place.where} options", place.problems)
    if topic is None:
        place.problem("has no 'topic'")
    if kind not in (None, *_INPUT_FORMATS):
        place.problem(f"format {kind!r} is unknown; there are: {', '.join(_INPUT_FORMATS)}")
    if kind is None and schema is not None:
        place.problem("has a 'schema' but no 'format'")
    if kind == "csv" and schema is None:
        place.problem("has the format 'csv' but no 'schema', which names its columns")
    if reader not in (None, *_READERS):
        near = nearest(reader, _READERS)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(_READERS)}"
        place.problem(f"reader {reader!r} is unknown; {hint}")
    return StepInput(table, topic or "", kind, schema, None if reader == "eosfw" else reader, options)


def _output(place: _Section, value: Any) -> tuple[str, str, dict[str, str]]:
    """The target, the format and the options of an output; a text is a folder of parquet files."""
    if isinstance(value, str) and value.strip():
        return value, "parquet", {}
    if not isinstance(value, Mapping):
        place.problem('needs \'output\': a folder as a text, or a table such as { topic = "..." } or { path = "..." }')
        return "", "parquet", {}
    place.only(value, _OUTPUT)
    options = flat_properties(place.table(value, "options"), f"{place.where} output options", place.problems)
    targets = {key: place.text(value, key) for key in ("path", "topic", "table") if key in value}
    kind = place.text(value, "format") or ("topic" if "topic" in targets else "parquet")
    if kind not in OUTPUT_FORMATS:
        near = nearest(kind, OUTPUT_FORMATS)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(OUTPUT_FORMATS)}"
        place.problem(f"output format {kind!r} is unknown; {hint}")
        return "", "parquet", options
    wanted = {"topic": "topic", "iceberg": "table", "console": None}.get(kind, "path")
    if list(targets) != ([] if wanted is None else [wanted]):
        needs = f"needs {wanted!r} alone" if wanted else "has no path, topic or table"
        place.problem(f"output format {kind!r} {needs}")
    return next(iter(targets.values()), None) or "", kind, options
