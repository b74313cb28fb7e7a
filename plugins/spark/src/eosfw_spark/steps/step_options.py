"""The options of a step's input and output: some are the step's own, the others go to Spark's reader and writer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from eosfw.errors import ConfigError
from eosfw.protocols import AVAILABLE_NOW, Step, StepInput
from eosfw_spark.formats.options import FORMATS
from eosfw_spark.option_parser import boolean
from eosfw_spark.source.options import parse_formats

READ_BY_SPARK: Final = "spark-kafka"
HEADER: Final = "header"
TYPED: Final = "__value"
"""The column of decoded values, until their fields are columns."""
_ANY: Final = {"kafka.bootstrap.servers": "any", "subscribe": "any"}
_ROW: Final = {
    "csv": (HEADER, "sep", "delimiter", "quote", "escape", "nullValue", "dateFormat", "timestampFormat"),
}
"""Spark's names of `from_csv`; `header` it ignores for single rows, so that one is ours."""


def row_options(given: StepInput) -> Mapping[str, str]:
    """The options of the format, by Spark's names."""
    spelled = {name.lower(): name for name in _ROW.get(given.format or "", ())}
    return {spelled[name.lower()]: value for name, value in given.options.items() if name.lower() in spelled}


def reader_options(given: StepInput) -> Mapping[str, str]:
    """The other options, such as `maxOffsetsPerTrigger`."""
    own = {name.lower() for name in _ROW.get(given.format or "", ())}
    return {name: value for name, value in given.options.items() if name.lower() not in own}


def decoded_by_source(given: StepInput) -> bool:
    """Whether eosfw's source decodes the values; otherwise they are bytes, which functions of Spark may decode."""
    return given.format in FORMATS and given.reader != READ_BY_SPARK


def typed_options(given: StepInput) -> Mapping[str, str]:
    """The options that have the source put the decoded value beside the bytes."""
    schema = {} if given.schema is None else {"value.schema": given.schema}
    return {"value.format": given.format or "", **schema, "value.typed.column": TYPED}


def option_problems(given: StepInput) -> Iterator[str]:
    """What is wrong with the options of the format, as far as it shows without Spark."""
    options = row_options(given)
    try:
        boolean(options.get(HEADER, "false"))
    except ValueError as why:
        yield f"option {HEADER} of input {given.table} {why}"
    if "sep" in options and "delimiter" in options:
        yield f"input {given.table} has the options sep and delimiter, which are one: keep either"
    if decoded_by_source(given):
        try:
            parse_formats({**_ANY, **reader_options(given), **typed_options(given)})
        except ConfigError as why:
            yield from (f"input {given.table}: {each.what}" for each in why.problems)
    for name in ("sep", "delimiter", "quote", "escape"):
        if not options.get(name, "x"):
            yield f"option {name} of input {given.table} is empty"


# --- output

NUM_ROWS: Final = "numRows"
"""The rows that the console shows, with the name and the default of Spark's console sink."""
_DEFAULT_ROWS: Final = 20


def writer_options(step: Step) -> Mapping[str, str]:
    """The options for Spark's writer."""
    return {name: value for name, value in step.output_options.items() if name != NUM_ROWS}


def shown_rows(text: str | None) -> int:
    """The number of rows that the console shows; ValueError if the text is none."""
    if text is not None and not (text.isascii() and text.isdecimal()):
        raise ValueError(f"must be a whole number, not {text}")
    return _DEFAULT_ROWS if text is None else int(text)


def output_problems(step: Step) -> Iterator[str]:
    """What is wrong with the mode and the step's own options."""
    if step.output_format == "topic" and not step.streaming and step.output_mode != "append":
        yield (
            f"a batch step replaces its output, which topic {step.output} cannot be; give the step"
            f' trigger = "{AVAILABLE_NOW}", so that it adds what is new, or its output mode = "append", so that each'
            " run over new records adds the whole result"
        )
    if step.output_format == "topic" and step.streaming and step.output_mode == "update":
        yield (
            f'Spark does not write output mode "update" into topic {step.output}; take "complete", which writes all'
            ' rows of the result with each batch, or "append" with a watermark'
        )
    try:
        shown_rows(step.output_options.get(NUM_ROWS))
    except ValueError as why:
        yield f"output option {NUM_ROWS} {why}"
