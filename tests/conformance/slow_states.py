"""Reach states that take long: exhausted epochs and timed-out transactions."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from typing import Protocol

from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw_memory.client.transport.apis import Fields, milliseconds
from eosfw_memory.client.transport.messages import format_of
from eosfw_memory.client.transport.sockets import addresses
from eosfw_memory.server.broker.broker import Broker
from eosfw_memory.server.coordinators.transaction_log import TransactionStateTopic
from eosfw_memory.server.coordinators.transaction_metadata import LAST_CLIENT_EPOCH, TransactionMetadata

_INIT_PRODUCER_ID, _VERSION = 22, 5
_TURN = 250
"""Requests on their way at once."""
_LENGTH = struct.Struct(">i")


class Lengthy(Protocol):
    """States that need many requests or much time from a client."""

    def exhaust(self, names: Sequence[str]) -> None:
        """Bring transactional ids to the last epoch that a client may have."""

    def outlast(self, seconds: float) -> None:
        """Wait until the broker's clock has advanced by some seconds."""


class ByWaiting:
    """Reaches the states by requests and waiting, on any broker."""

    def __init__(self, servers: str, runtime: Runtime) -> None:
        self._servers = servers
        self._runtime = runtime

    def exhaust(self, names: Sequence[str]) -> None:
        """Initialise each id as often as it takes: some 32,000 requests for each, so for recording only."""
        with socket.create_connection(addresses(self._servers)[0]) as opened, opened.makefile("rb") as answers:
            for name in names:
                _initialise(opened, answers, name, LAST_CLIENT_EPOCH + 1)

    def outlast(self, seconds: float) -> None:
        """Wait."""
        self._runtime.sleep(seconds)


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


class ByHand:
    """On an embedded broker of this process: a slow machine must not let run out what is still being made ready."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def exhaust(self, names: Sequence[str]) -> None:
        """Write into the transaction log what would stand there, and have it read again."""
        broker = self._broker
        log = TransactionStateTopic(broker.transaction_log)
        now_ms = int(ThreadRuntime().wall() * 1000)
        for name in names:
            fresh = broker.coordinator.fresh_producer_id()
            log.append(name, TransactionMetadata(name, fresh, LAST_CLIENT_EPOCH, 60_000, updated_ms=now_ms), now_ms)
        broker.coordinator.load()

    def outlast(self, seconds: float) -> None:
        """Put the clock forward."""
        self._broker.jump(seconds)
