"""Replay a source in a subprocess.

As a program, this module reads its arguments from stdin as JSON and writes a JSON list of fingerprints to stdout.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import zip_longest

from eosfw.concurrency import ThreadRuntime
from eosfw.connectors import SourceConnector
from eosfw.records import SourceRecord
from pytest_eos.contracts.connectors.task_driver import TaskDriver, key_of
from pytest_eos.environment.processes.os_processes import absolute_sys_path
from pytest_eos.virtual import VirtualRuntime

_PATIENCE = 60.0
_SHOWN = 160


def fingerprint(record: SourceRecord) -> str:
    """The start of a record's text, then a hash of the whole record."""
    text = repr(record)
    return f"{text[:_SHOWN]} #{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def fingerprints(driver: TaskDriver, most: int) -> list[str]:
    """The fingerprints of a source's records, read by one task; each source partition has an order of its own."""
    records = [record for task_config in driver.task_configs(1) for record in driver.records(task_config, {}, most)]
    return [fingerprint(record) for record in sorted(records, key=lambda one: key_of(one.source_partition))]


def fingerprints_in_subprocess(
    connector: type[SourceConnector], properties: Mapping[str, str], most: int, *, virtual: bool
) -> list[str]:
    """The fingerprints, read by a new interpreter with another seed of `hash`, in virtual time if the test is."""
    import pytest  # here, since the subprocess needs none of it

    job = [connector.__module__, connector.__qualname__, dict(properties), most, virtual]
    who = f"{job[0]}:{job[1]}"
    try:
        ran = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(job),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(absolute_sys_path()), "PYTHONHASHSEED": "12345"},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"{who} blocks: in another process it gave no {most} records in {_PATIENCE:g} s", pytrace=False)
    if ran.returncode:
        pytest.fail(f"{who} cannot be used in another process: {ran.stderr.strip()}", pytrace=False)
    found: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def disagreement(here: Sequence[str], there: Sequence[str]) -> str | None:
    """The first difference between the records of two processes, with its likely cause; None if they are equal."""
    if list(here) == list(there):
        return None
    if sorted(here) == sorted(there):
        why = "the same records in another order: something iterates over a set, or sorts by `hash`"
    else:
        why = "other records: something hangs on this process, say the seed of `hash`, an address or the time"
    at, first, second = next(
        (at, *pair) for at, pair in enumerate(zip_longest(here, there, fillvalue="no record")) if pair[0] != pair[1]
    )
    return f"another process gets {why}. Record {at} here: {first}; there: {second}"


def _main() -> None:
    module, name, properties, most, virtual = json.loads(sys.stdin.read())
    connector: SourceConnector = getattr(import_module(module), name)()
    found = fingerprints(TaskDriver(connector, properties, VirtualRuntime() if virtual else ThreadRuntime()), most)
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    _main()
