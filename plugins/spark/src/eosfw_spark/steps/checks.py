"""The checks of steps that need no Spark session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from eosfw.errors import Problem, described
from eosfw.protocols import Step, StepInput
from eosfw_spark.jars import missing_jar
from eosfw_spark.java import java_problem
from eosfw_spark.steps import functions
from eosfw_spark.steps.output import refusal
from eosfw_spark.steps.schemas import duplicate_columns, nested_columns
from eosfw_spark.steps.sql_syntax import syntax_errors
from eosfw_spark.steps.step_options import READ_BY_SPARK, option_problems, output_problems

FORMATS = ("json", "csv", "avro", "protobuf")
FOLDERS = ("parquet", "csv", "json", "delta")
"""Output formats that are folders of files."""
_JARS = {
    "delta": ("delta-spark", "io.delta:delta-spark_2.13:4.0.0 (for Spark 4.0; newer ones for newer Spark)"),
    "iceberg": ("iceberg-spark-runtime", "org.apache.iceberg:iceberg-spark-runtime-MINOR_2.13:1.10.0"),
    "spark-kafka": ("spark-sql-kafka-0-10", "org.apache.spark:spark-sql-kafka-0-10_2.13:VERSION"),
}
"""What Spark does not bring itself, by the name that a pipeline file has for it."""


def step_problems(steps: Sequence[Step], folder: str) -> list[Problem]:
    """All problems of these steps; none if there are no steps."""
    if not steps:
        return []
    java = java_problem()
    problems = [Problem("", java)] if java else []
    for name, count in Counter(step.name for step in steps).items():
        if count > 1:
            problems.append(Problem(_where(name), f"{count} steps have this name"))
    for step in steps:
        problems += [Problem(_where(step.name), what) for what in _wrong(step, folder)]
    return problems + _shared_outputs(steps, folder) + ([] if java else _wrong_sql(steps))


def _wrong_sql(steps: Sequence[Step]) -> list[Problem]:
    statements = [(step.name, step.sql) for step in steps if step.sql is not None and step.sql.strip()]
    errors = syntax_errors([sql for _, sql in statements]) if statements else []
    return [
        Problem(_where(name), f"its sql does not parse: {error}")
        for (name, _), error in zip(statements, errors, strict=True)
        if error is not None
    ]


def _where(name: str) -> str:
    return f"step {name}"


def _wrong(step: Step, folder: str) -> Iterator[str]:
    tables = [each.table for each in step.inputs]
    if not tables:
        yield "has no input"
    for table, count in Counter(table.lower() for table in tables).items():
        if count > 1:
            yield f"{count} inputs are called {table}"
    for each in step.inputs:
        yield from _wrong_input(each)
    yield from _wrong_output(step, folder)
    yield from _wrong_jars(step)
    if (step.sql is None) == (step.function is None):
        yield "needs either sql or function" + ("" if step.sql is None else ", not both")
    elif step.sql is not None and not step.sql.strip():
        yield "its sql is empty"
    elif step.function is not None:
        yield from _wrong_function(step.function, tables, folder)


def _wrong_input(given: StepInput) -> Iterator[str]:
    if not given.table.isidentifier():
        yield f"{given.table!r} cannot name a table: use letters, digits, underscores"
    yield from option_problems(given)
    if given.format is None and given.schema is None:
        return
    if given.format not in FORMATS:
        shown = "no format" if given.format is None else f"format {given.format!r}"
        yield f"input {given.table} has {shown}; with a schema the format is one of {', '.join(FORMATS)}"
    elif given.format == "csv" and given.schema is None:
        yield f'input {given.table} has a format but no schema; write the columns, such as "id BIGINT, name STRING"'
    elif given.reader == READ_BY_SPARK and (given.format not in ("csv", "json") or given.schema is None):
        what = "is decoded by eosfw's own reader alone: leave out reader, or take json with a schema"
        yield f"input {given.table} {what}"
    elif given.schema is not None and given.format in ("csv", "json"):
        yield from _wrong_columns(given, given.schema)


def _wrong_columns(given: StepInput, schema: str) -> Iterator[str]:
    try:
        both = duplicate_columns(schema)
        if given.format == "json" and given.reader != READ_BY_SPARK:
            from eosfw_spark.formats.ddl import parse_ddl

            parse_ddl(schema)
    except ValueError as why:
        yield f"the schema of input {given.table}: {why}"
        return
    if both:
        yield f"the schema of input {given.table} repeats a column or one of Kafka's: {', '.join(both)}"
    if given.format == "csv" and (deep := nested_columns(schema)):
        yield f"the schema of input {given.table} has columns that a CSV row cannot hold: {', '.join(deep)}; take json"


def _wrong_output(step: Step, folder: str) -> Iterator[str]:
    yield from output_problems(step)
    if step.output_format not in FOLDERS:
        return
    if not step.output.strip():
        yield "has no output folder"
        return
    place, home = resolved(step.output, folder), Path(folder).resolve()
    if home.is_relative_to(place):
        yield f"output {step.output} would replace the folder of the pipeline itself"
    elif step.output_format != "delta" and (problem := refusal(place)):
        yield problem


def _wrong_jars(step: Step) -> Iterator[str]:
    wanted = {(f"output format {step.output_format}", _JARS.get(step.output_format))}
    wanted |= {(f"reader {each.reader} of input {each.table}", _JARS.get(each.reader or "")) for each in step.inputs}
    for what, jar in sorted(wanted, key=str):
        if jar is not None and (missing := missing_jar(*jar)):
            yield f"{what} {missing}"


def _wrong_function(name: str, tables: Sequence[str], folder: str) -> Iterator[str]:
    try:
        function = functions.load(name, folder)
    except ImportError as why:
        yield f"function {name}: {why}"
    except (Exception, SystemExit) as why:  # noqa: BLE001 - a user's module may raise anything when it is imported
        yield f"function {name} cannot be imported: {described(why)}"
    else:
        if problem := functions.mismatch(function, tables):
            yield f"function {name} {problem}"


def _shared_outputs(steps: Sequence[Step], folder: str) -> list[Problem]:
    written = [step for step in steps if step.output_format in FOLDERS and step.output.strip()]
    places = [(step.name, resolved(step.output, folder)) for step in written]
    problems: list[Problem] = []
    for at, (name, place) in enumerate(places):
        for other_at, (other, other_place) in enumerate(places):
            # Of two steps with one output only the later one is reported.
            wrong = other_at < at if place == other_place else place.is_relative_to(other_place)
            if wrong:
                what = f"output {place} lies in the output of step {other}, or is the same"
                problems.append(Problem(_where(name), what))
    return problems


def resolved(output: str, folder: str) -> Path:
    """An output folder as an absolute path."""
    return (Path(folder) / output).resolve()
