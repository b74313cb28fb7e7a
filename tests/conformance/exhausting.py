"""Bring transactional ids to the last epoch that a client may have."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence

from eosfw.waiting import ThreadRuntime
from eosfw_memory.broker import Broker
from eosfw_memory.client.apis import Fields, milliseconds
from eosfw_memory.client.messages import format_of
from eosfw_memory.client.sockets import addresses
from eosfw_memory.coordinators.metadata import LAST_CLIENT_EPOCH, TransactionMetadata
from eosfw_memory.transaction_log import TopicTransactionLog

Exhaust = Callable[[Sequence[str]], None]
_INIT_PRODUCER_ID, _VERSION = 22, 5
_TURN = 250
"""Requests on their way at once."""
_LENGTH = struct.Struct(">i")


def by_asking(servers: str) -> Exhaust:
    """Initialise each id as often as it takes: some 32,000 requests for each, so for recording only."""

    def exhaust(names: Sequence[str]) -> None:
        with socket.create_connection(addresses(servers)[0]) as opened, opened.makefile("rb") as answers:
            for name in names:
                _initialise(opened, answers, name, LAST_CLIENT_EPOCH + 1)

    return exhaust


def _initialise(opened: socket.socket, answers: object, name: str, times: int) -> None:
    nobody = Fields(transactional_id=name, transaction_timeout=milliseconds(60), producer_id=-1, producer_epoch=-1)
    form = format_of(_INIT_PRODUCER_ID, _VERSION)
    frame = form.frame(1, "conformance", nobody)
    epoch = -1
    for first in range(0, times, _TURN):
        count = min(_TURN, times - first)
        opened.sendall(frame * count)
        for _ in range(count):
            size = _LENGTH.unpack(answers.read(_LENGTH.size))[0]  # type: ignore[attr-defined]
            _, answer = form.answer(answers.read(size))  # type: ignore[attr-defined]
            epoch = answer["producer_epoch"]  # type: ignore[index, assignment]
    assert epoch == times - 1


def by_writing(broker: Broker) -> Exhaust:
    """Write into the transaction log of an embedded broker what would stand there, and have it read again."""

    def exhaust(names: Sequence[str]) -> None:
        log = TopicTransactionLog(broker.transaction_log, broker.faults)
        now_ms = int(ThreadRuntime().wall() * 1000)
        for name in names:
            fresh = broker.coordinator.fresh_producer_id()
            log.append(name, TransactionMetadata(name, fresh, LAST_CLIENT_EPOCH, 60_000, updated_ms=now_ms), now_ms)
        broker.coordinator.load()

    return exhaust
