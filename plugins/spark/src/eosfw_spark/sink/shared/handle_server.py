"""Where tasks get the handle of a shared transaction, each handle once (as Spark's `OutputCommitCoordinator` decides).

Spark may run a task several times: after a failure, after the loss of an executor, when a stage is done again because
its shuffle files are lost, or by speculation. Attempts may run at the same time, and a task cannot always know that it
is not the first. So it asks the driver: whoever comes first gets the handle, and no other attempt does.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from eosfw.concurrency import Runtime
from eosfw.errors import ClusterUnavailableError, StepFailedError
from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw.protocols import TransactionHandle

_TIMEOUT: Final = 30.0
"""Seconds for a request, which is one line each way."""
_LONGEST: Final = 4096
_OVER: Final = "the transaction of this batch is over: the driver gives no handle any more"


@dataclass(frozen=True, slots=True)
class HandleAddress:
    """Where a task asks for its handle, and by which key; sent to the tasks of one batch."""

    host: str
    port: int
    key: str = field(repr=False)


class FirstComeHandles:
    """Gives each handle to the first attempt that asks, until it is closed."""

    def __init__(self, handles: Sequence[TransactionHandle], key: str, runtime: Runtime) -> None:
        self._handles, self._key = handles, key
        self._lock = runtime.lock()
        self._attempts: dict[int, int] = {}
        self._closed = False
        self.refused: str | None = None
        """Which attempt was refused last, in words; the batch can still be committed if the first attempt ends."""

    @property
    def given(self) -> frozenset[int]:
        """The writers whose handles were given to an attempt."""
        with self._lock:
            return frozenset(self._attempts)

    def close(self) -> None:
        """Give no handle any more."""
        with self._lock:
            self._closed = True

    def answer(self, line: bytes) -> bytes:
        """The answer to a request; whatever is no request raises."""
        return json.dumps(self._answer(json.loads(line))).encode() + b"\n"

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        if not hmac.compare_digest(str(request.get("key")), self._key):
            return {"refused": "the key is not that of this batch"}
        writer, attempt = int(request["writer"]), int(request["attempt"])
        with self._lock:
            if self._closed:
                return {"refused": _OVER}
            first = self._attempts.setdefault(writer, attempt)
            if first != attempt:
                self.refused = (
                    f"attempt {attempt} of writer {writer} comes after attempt {first}, which may have written; "
                    f"unless that one ends, the transaction is aborted, and the batch runs again"
                )
                return {"refused": self.refused}
        return {"handle": _encode(self._handles[writer])}


class HandleServer:
    """Answers the tasks of one batch; runs until it is closed."""

    def __init__(
        self, handles: Sequence[TransactionHandle], host: str, runtime: Runtime, bind: str | None = None
    ) -> None:
        """`host` is where tasks find this process, `bind` the address to listen at, if that is another one."""
        key = secrets.token_hex(32)
        self.handles = FirstComeHandles(handles, key, runtime)
        self._runtime = runtime
        try:
            self._listener = socket.create_server((bind or host, 0))
        except OSError as why:
            raise ClusterUnavailableError(f"cannot listen for tasks at {bind or host}: {why}") from why
        self.address = HandleAddress(host, self._listener.getsockname()[1], key)
        runtime.spawn("eosfw-handles", self._accept)

    def close(self) -> None:
        """Give no handle any more."""
        self.handles.close()
        with suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:  # closed
                return
            self._runtime.spawn("eosfw-handle", lambda peer=peer: self._serve(peer))  # type: ignore[misc]

    def _serve(self, peer: socket.socket) -> None:
        peer.settimeout(_TIMEOUT)
        # Whatever a stranger sends, or does not send, ends this connection alone.
        with suppress(OSError, ValueError, LookupError, TypeError, AttributeError), peer, peer.makefile("rb") as lines:
            peer.sendall(self.handles.answer(lines.readline(_LONGEST)))


def exchange(address: HandleAddress, line: bytes) -> bytes:
    """Send a line to the driver, and return the one that it answers; empty if it answers nothing."""
    with socket.create_connection((address.host, address.port), _TIMEOUT) as opened, opened.makefile("rb") as lines:
        opened.sendall(line)
        return lines.readline()


def take_handle(address: HandleAddress, writer: int, attempt: int) -> TransactionHandle:
    """Ask for a writer's handle; StepFailedError if another attempt has it, or nobody answers."""
    request = json.dumps({"key": address.key, "writer": writer, "attempt": attempt}).encode() + b"\n"
    try:
        answer = json.loads(exchange(address, request) or b"{}")
    except (OSError, ValueError) as why:
        raise StepFailedError(f"the driver at {address.host}:{address.port} gives no handle: {why}") from why
    if "handle" not in answer:
        raise StepFailedError(answer.get("refused", _OVER))
    return _decode(answer["handle"])


def _encode(handle: TransactionHandle) -> dict[str, Any]:
    return {
        "transactional_id": handle.transactional_id,
        "producer": list(handle.producer),
        "transaction_version": handle.transaction_version,
        "writer": handle.writer,
        "partitions": sorted(map(list, handle.partitions)),
    }


def _decode(fields: dict[str, Any]) -> TransactionHandle:
    partitions = frozenset(TopicPartition(*each) for each in fields.pop("partitions"))
    return TransactionHandle(producer=ProducerIdAndEpoch(*fields.pop("producer")), partitions=partitions, **fields)
