"""Record the table of answers from a real Kafka: `python -m conformance.record` in `tests/`, some three minutes.

One node runs version 2 of transactions, a second one version 1. Every cell has a transactional id and partitions of
its own; nothing of what is written depends on the run.
"""

from __future__ import annotations

import sys

from eosfw.concurrency import ThreadRuntime
from real_kafka import KAFKA_VERSION, RealKafka

from . import arguments, memberships
from .calls import Caller
from .cell_answers import answers, nested
from .cells import Cell, cells
from .golden import store, store_others
from .slow_states import ByWaiting

NEWEST = 2
TABLES = {"arguments": arguments.answers, "memberships": memberships.answers}
"""Asked of a fresh Kafka only: nothing there hangs on the version of transactions."""


def main() -> int:
    """Record every cell."""
    found: dict[Cell, str] = {}
    for version in (NEWEST, 1):
        node = RealKafka.start(features={"transaction.version": version})
        try:
            caller = Caller(node.bootstrap_servers)
            found |= dict(answers(caller, list(cells(version)), ByWaiting(node.bootstrap_servers, ThreadRuntime())))
            if version == NEWEST:
                store_others(KAFKA_VERSION, {name: dict(ask(caller)) for name, ask in TABLES.items()})
            caller.close()
        finally:
            node.stop()
        sys.stderr.write(f"transaction.version {version}: {len(found)} cells so far\n")
    store(KAFKA_VERSION, nested(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
