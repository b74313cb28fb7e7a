"""Replay a source in a process of its own.

Run as a program it reads a job from stdin as JSON, and writes a JSON list of fingerprints to stdout.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module

import pytest

from eosfw.connectors import SourceConnector
from eosfw.records import SourceRecord
from pytest_eos.clusters import runtime
from pytest_eos.contracts.driving import Driver
from pytest_eos.searching import module_path

_PATIENCE = 60.0


def fingerprint(record: SourceRecord) -> str:
    """A short text that differs wherever anything of a record does."""
    return hashlib.sha256(repr(record).encode()).hexdigest()[:16]


def fingerprint_elsewhere(connector: type[SourceConnector], properties: Mapping[str, str], most: int) -> list[str]:
    """The fingerprints of a source's records, replayed by a fresh interpreter with another seed of `hash`."""
    job = [connector.__module__, connector.__qualname__, dict(properties), most]
    ran = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(job),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(module_path()), "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=False,
        timeout=_PATIENCE,
    )
    if ran.returncode:
        pytest.fail(f"{job[0]}:{job[1]} cannot be used in another process: {ran.stderr.strip()}", pytrace=False)
    found: list[str] = json.loads(ran.stdout.splitlines()[-1])
    return found


def _main() -> None:
    module, name, properties, most = json.loads(sys.stdin.read())
    connector: SourceConnector = getattr(import_module(module), name)()
    driver = Driver(connector, properties, runtime())
    shares = driver.shares(1)
    found = [fingerprint(record) for share in shares for record in driver.records(share, {}, most)]
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    _main()
