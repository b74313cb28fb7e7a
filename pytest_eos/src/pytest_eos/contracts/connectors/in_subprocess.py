"""Ask a connector in a subprocess for its records and its task configs.

As a program, this module reads its arguments from stdin as JSON and writes the answers as JSON to stdout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from itertools import zip_longest
from typing import NamedTuple

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceConnector
from eosfw.records import SourceRecord
from pytest_eos.contracts.connectors.record_differences import first_difference
from pytest_eos.contracts.connectors.task_driver import TaskDriver, key_of
from pytest_eos.environment.processes.os_processes import absolute_sys_path
from pytest_eos.virtual import VirtualRuntime

_PATIENCE = 60.0
_FIELDS = [field.name for field in fields(SourceRecord)]
_BEFORE, _SHOWN = 40, 120
"""Characters of a long text before the place where it differs, and in all."""
_OTHER = {"PYTHONHASHSEED": "12345", "TZ": "CHADT-13:45"}
"""What differs between workers: the seed of `hash`, and the time zone, here one that hardly any machine has."""


class Answers(NamedTuple):
    """What a connector answers in one process."""

    records: list[list[str]]
    """The texts of each record's fields, read by one task; each source partition has an order of its own."""
    task_configs: list[dict[str, str]]
    """Those of three tasks."""


def answers(driver: TaskDriver, most: int) -> Answers:
    """What a connector answers in this process."""
    records = [record for task_config in driver.task_configs(1) for record in driver.records(task_config, {}, most)]
    records.sort(key=lambda one: key_of(one.source_partition))
    texts = [[repr(getattr(record, name)) for name in _FIELDS] for record in records]
    return Answers(texts, [dict(one) for one in driver.task_configs(3)])


def answers_in_subprocess(
    connector: type[SourceConnector], properties: Mapping[str, str], most: int, *, virtual: bool
) -> Answers:
    """What it answers in a new interpreter as on another machine, in virtual time if the test is."""
    import pytest  # here, since the subprocess needs none of it

    job = [connector.__module__, connector.__qualname__, dict(properties), most, virtual]
    who = f"{job[0]}:{job[1]}"
    try:
        ran = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(job),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(absolute_sys_path()), **_OTHER},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{who} blocks: in another process it gave no {most} records in {_PATIENCE:g} s", pytrace=False)
    if ran.returncode:
        pytest.fail(f"{who} cannot be used in another process: {ran.stderr.strip()}", pytrace=False)
    return Answers(*json.loads(ran.stdout.splitlines()[-1]))


def disagreement(here: Answers, there: Answers) -> str | None:
    """The first difference between the answers of two processes, with its likely cause; None if they are equal."""
    if here.records != there.records:
        return _records_differ(here.records, there.records)
    if here.task_configs != there.task_configs:
        differs = first_difference(here.task_configs, there.task_configs)
        return (
            f"another process splits the work in another way, so each new leader starts all tasks anew: something "
            f"iterates over a set, or depends on this process: {differs}"
        )
    return None


def _records_differ(here: list[list[str]], there: list[list[str]]) -> str:
    if sorted(here) == sorted(there):
        why = "the same records in another order: something iterates over a set, or sorts by `hash`"
    else:
        why = "other records: something hangs on this process, say `hash`, the time zone, an address or the time"
    at, first, second = next((at, *pair) for at, pair in enumerate(zip_longest(here, there)) if pair[0] != pair[1])
    if first is None or second is None:
        return f"another process gets {why}. It has {len(there)} records, this one {len(here)}"
    name, one, other = next(texts for texts in zip(_FIELDS, first, second, strict=True) if texts[1] != texts[2])
    place = next(place for place, pair in enumerate(zip_longest(one, other)) if pair[0] != pair[1])
    one, other = (_excerpt(text, place) for text in (one, other))
    return f"another process gets {why}. Record {at} has the {name} {one} here, {other} there"


def _excerpt(text: str, place: int) -> str:
    start = max(0, place - _BEFORE)
    return f"{'...' if start else ''}{text[start : start + _SHOWN]}"


def _main() -> None:
    module, name, properties, most, virtual = json.loads(sys.stdin.read())
    connector: SourceConnector = getattr(import_module(module), name)()
    found = answers(TaskDriver(connector, properties, VirtualRuntime() if virtual else ThreadRuntime()), most)
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    _main()
