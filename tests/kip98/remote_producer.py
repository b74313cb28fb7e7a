"""Be a producer that a test kills, or stops: `python -m kip98.remote_producer`, with its orders in lines on stdin."""

from __future__ import annotations

import json
import sys
from typing import Any

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError
from eosfw.protocols import TransactionalProducer
from kip98.counter import Counter, Names
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record
from pytest_eos.environment.config.installed_plugins import installed_plugins

TIMEOUT = 60.0
"""Seconds of a transaction that is to be outslept: the broker's clock is put forward."""


def main() -> None:
    """Count up to the number of the job, or open a transaction and follow commands."""
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    runtime = ThreadRuntime()
    lab = BackendHarness(installed_plugins().backend(job["backend"]).connect(job["properties"], runtime), runtime)
    names = Names(**job["names"])
    if job["until"] is not None:
        counter = Counter(lab, names)
        counter.count(counter.start(), job["until"], WAIT)
        return
    producer = lab.open_transaction(names.topic, b"outslept", transactional_id=names.own, timeout=TIMEOUT)
    _tell("open")
    try:
        _execute(producer, names.topic, sys.stdin.readline().strip())
    except EosfwError as why:
        _tell(type(why).__name__)
    else:
        _tell("done")


def _execute(producer: TransactionalProducer, topic: str, order: str) -> None:
    if order == "send":
        producer.send(record(topic, b"late"))
        producer.flush(WAIT)
    producer.commit_transaction(WAIT)


def _tell(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
