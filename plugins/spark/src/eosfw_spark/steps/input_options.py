"""The options of a step's input: some say how its rows are written, the others are its reader's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from eosfw.protocols import StepInput
from eosfw_spark.option_parser import boolean

READ_BY_SPARK: Final = "spark-kafka"
HEADER: Final = "header"
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


def option_problems(given: StepInput) -> Iterator[str]:
    """What is wrong with the options of the format, as far as it shows without Spark."""
    options = row_options(given)
    try:
        boolean(options.get(HEADER, "false"))
    except ValueError as why:
        yield f"option {HEADER} of input {given.table} {why}"
    if "sep" in options and "delimiter" in options:
        yield f"input {given.table} has the options sep and delimiter, which are one: keep either"
    for name in ("sep", "delimiter", "quote", "escape"):
        if not options.get(name, "x"):
            yield f"option {name} of input {given.table} is empty"
