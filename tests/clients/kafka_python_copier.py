"""Copy a topic to another through kafka-python: a program of its own, so that it can be killed."""

from __future__ import annotations

import argparse
import faulthandler
import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from copier import run  # beside this program

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # it reads its schemas in an old way
    from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

WAIT = 15.0
IDLE_MS = 200
STUCK = 10.0
"""Seconds for one transaction; a broker may take some of them to come back."""
NO_EPOCH = -1


class KafkaPythonCopier:
    """A `Copier` that ends at the first error, for two mistakes of this library (3.0.12).

    It commits the offsets of a transaction that it aborted together with the next one: a producer that has aborted is
    better thrown away, and its successor told by the broker where to go on. And it forgets a request whose coordinator
    refused the connection, then waits for its answer without limit: a transaction that takes too long ends the program.
    """

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        servers = {"bootstrap_servers": options.servers, "reconnect_backoff_max_ms": 200}
        self._producer = KafkaProducer(
            **servers, transactional_id=options.transactional_id, max_block_ms=int(WAIT * 1000), linger_ms=20
        )
        self._producer.init_transactions()
        self._consumer = KafkaConsumer(
            **servers,
            group_id=options.group,
            # A member that comes back under its name gets its partitions at once (KIP-345).
            group_instance_id=options.transactional_id,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=45_000,
        )
        self._consumer.subscribe([options.input])
        # It joins before it knows the topic, then again; a poll that ends within that second join forgets it (3.0.12).
        self._consumer.partitions_for_topic(options.input)

    def turn(self) -> None:
        polled = self._consumer.poll(timeout_ms=IDLE_MS, max_records=self._options.size)
        if polled:
            faulthandler.dump_traceback_later(STUCK, exit=True)
            self._copy(polled)
            faulthandler.cancel_dump_traceback_later()

    def close(self) -> None:
        self._consumer.close()
        self._producer.close(WAIT)

    def _copy(self, polled: Mapping[TopicPartition, Sequence[Any]]) -> None:
        self._producer.begin_transaction()
        records = [record for each in polled.values() for record in each]
        sent = [self._producer.send(self._options.output, record.value, record.key) for record in records]
        time.sleep(self._options.pause)
        self._producer.flush(WAIT)
        for future in sent:
            future.get(0)  # it would commit although one of them is lost
        behind = {where: OffsetAndMetadata(each[-1].offset + 1, "", NO_EPOCH) for where, each in polled.items()}
        self._producer.send_offsets_to_transaction(behind, self._consumer.group_metadata())
        time.sleep(self._options.pause)
        self._producer.commit_transaction()


if __name__ == "__main__":
    run(KafkaPythonCopier)
