"""Copy a topic to another through confluent-kafka: a program of its own, so that it can be killed."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

WAIT = 30.0
IDLE = 0.2


class ConfluentCopier:
    """One member of the group, with one transactional id; the counterpart of Kafka's TransactionalMessageCopier."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        servers = {
            "bootstrap.servers": options.servers,
            "reconnect.backoff.max.ms": 200,
            # Else librdkafka waits for a coordinator that it has thrown away itself (its issue 5511).
            "metadata.recovery.strategy": "none",
        }
        self._consumer = Consumer(
            {
                **servers,
                "group.id": options.group,
                # A member that comes back under its name gets its partitions at once (KIP-345).
                "group.instance.id": options.transactional_id,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 45_000,
            }
        )
        self._producer = Producer({**servers, "transactional.id": options.transactional_id})
        self._producer.init_transactions(WAIT)
        self._consumer.subscribe([options.input])

    def turn(self) -> None:
        """Copy what there is, if anything, in one transaction; whatever it raises ends the program."""
        messages = self._consumer.consume(self._options.size, IDLE)
        wrong = [message.error() for message in messages if message.error() is not None]
        if any(error.fatal() for error in wrong):
            raise KafkaException(wrong[0])  # another one has taken its name, say: only a new start helps
        good = [message for message in messages if message.error() is None]
        if good:
            self._copy(good)

    def close(self) -> None:
        self._consumer.close()

    def _copy(self, messages: Sequence[Message]) -> None:
        """One transaction; what it cannot commit it aborts, then reads again."""
        try:
            self._producer.begin_transaction()
            for message in messages:
                self._producer.produce(self._options.output, message.value(), message.key())
            time.sleep(self._options.pause)
            positions = self._consumer.position(self._consumer.assignment())
            known = [position for position in positions if position.offset >= 0]
            self._producer.send_offsets_to_transaction(known, self._consumer.consumer_group_metadata(), WAIT)
            time.sleep(self._options.pause)
            self._producer.commit_transaction(WAIT)
        except KafkaException as why:
            error = why.args[0]
            sys.stderr.write(f"{error!r}\n")
            if not error.txn_requires_abort():
                raise  # fenced, or not known whether it is committed: only a new start tells
            self._producer.abort_transaction(WAIT)
            self._rewind()

    def _rewind(self) -> None:
        for committed in self._consumer.committed(self._consumer.assignment(), WAIT):
            start = max(committed.offset, 0)
            self._consumer.seek(TopicPartition(committed.topic, committed.partition, start))


def main() -> None:
    """Copy until it is asked to end (SIGTERM)."""
    parser = argparse.ArgumentParser()
    for name in ("servers", "input", "output", "group", "transactional-id"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--size", type=int, required=True, help="records a transaction")
    parser.add_argument("--pause", type=float, default=0.0, help="seconds before each end of a transaction, twice")
    asked: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    copier = ConfluentCopier(parser.parse_args())
    while not asked:
        copier.turn()
    copier.close()


if __name__ == "__main__":
    main()
