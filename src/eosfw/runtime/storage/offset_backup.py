"""Copies of committed source offsets in the worker's offsets topic (KIP-618, smooth migration and downgrade)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eosfw.concurrency import Event, Queue, Runtime
from eosfw.errors import ClusterUnavailableError, EosfwError, InterruptedRunError, described
from eosfw.protocols import TransactionalProducer
from eosfw.records import ProducerRecord

logger = logging.getLogger(__name__)

CAPACITY = 10_000
"""How many record keys may wait; of each only the newest offset does."""
PAUSES = (0.1, 0.5, 2.0, 5.0)
"""Seconds between the attempts to write a copy."""
DELIVERY_TIMEOUT = 30.0
"""Seconds in which one attempt must be acknowledged."""

Written = Callable[[EosfwError | None], None]
"""Called on the backup's thread once a record was written, or given up with the reason."""


@dataclass(frozen=True, slots=True)
class _Copy:
    record: ProducerRecord
    written: Written


class OffsetBackup:
    """Writes to the worker's offsets topic under the worker's identity, on a thread of its own; thread-safe.

    The secondary store of Kafka Connect's `ConnectorOffsetBackingStore`. A newer offset replaces one that waits, and
    records of one key keep their order.
    """

    def __init__(self, make_producer: Callable[[], TransactionalProducer], runtime: Runtime) -> None:
        self._make_producer, self._runtime = make_producer, runtime
        self._lock = runtime.lock()
        self._waiting: dict[bytes | None, _Copy] = {}
        self._wake: Queue[None] = runtime.queue()
        self._started = self._writing = False
        self._flushed: list[Event] = []
        """Of those who wait until nothing is left to write."""
        self._closing = runtime.event()
        self._given_up = False
        self._ended = runtime.event()
        self._producer: TransactionalProducer | None = None

    def submit(self, records: Sequence[ProducerRecord], written: Written) -> None:
        """Copy records when there is time; never blocks. `written` is called for each of them."""
        refused = [record for record in records if not self._accept(_Copy(record, written))]
        if refused:
            why = "the worker stops" if self._closing.is_set() else f"{CAPACITY} others wait"
            for _ in refused:
                written(InterruptedRunError(f"a source offset was not copied to the worker's topic: {why}"))

    def write(self, records: Sequence[ProducerRecord], timeout: float) -> None:
        """Write records and wait for them; raise if they were not written within `timeout` seconds."""
        if not records:
            return
        outcomes: Queue[EosfwError | None] = self._runtime.queue()
        deadline = self._runtime.now() + timeout
        self.submit(records, outcomes.put)
        for record in records:
            try:
                failed = outcomes.get(max(0.0, deadline - self._runtime.now()))
            except TimeoutError:
                raise ClusterUnavailableError(
                    f"topic {record.topic} took no source offset within {timeout:g} s"
                ) from None
            if failed is not None:
                raise failed

    def flush(self, timeout: float) -> bool:
        """Wait until everything that was submitted is written or given up; whether it is."""
        flushed = self._runtime.event()
        with self._lock:
            if not self._waiting and not self._writing:
                return True
            self._flushed.append(flushed)
        return flushed.wait(timeout)

    def close(self, timeout: float) -> None:
        """Write what waits for `timeout` seconds at most, then give the rest up; from any thread, also twice."""
        self._closing.set()
        with self._lock:
            started = self._started
            self._wake.put(None)
        if started and not self._ended.wait(timeout):
            self._given_up = True
            self._close_producer()  # its thread is inside, and ends with an error

    def _accept(self, copy: _Copy) -> bool:
        key = copy.record.key
        with self._lock:
            if self._closing.is_set() or (len(self._waiting) >= CAPACITY and key not in self._waiting):
                return False
            if not self._waiting:
                self._wake.put(None)
            replaced = self._waiting.pop(key, None)
            self._waiting[key] = copy
            if not self._started:
                self._started = True
                self._runtime.spawn("eosfw-offset-backup", self._run)
        if replaced is not None:
            replaced.written(None)  # the newer record says all that it would have said
        return True

    def _run(self) -> None:
        while not (self._closing.is_set() and not self._waiting):
            self._wake.get()
            with self._lock:
                copies, self._waiting = self._waiting, {}
                # Noted under the same lock, or a flush could find nothing waiting and nothing being written.
                self._writing = bool(copies)
            if copies:
                self._write_all(copies)
            self._note_flushed()
        self._close_producer()
        self._ended.set()

    def _note_flushed(self) -> None:
        with self._lock:
            self._writing = False
            flushed, self._flushed = ([], self._flushed) if self._waiting else (self._flushed, [])
        for one in flushed:
            one.set()

    def _write_all(self, copies: Mapping[bytes | None, _Copy]) -> None:
        failed = self._attempt(copies)
        for pause in PAUSES:
            if failed is None or self._given_up:
                break
            self._closing.wait(pause)  # a stop shortens the pause; it is no reason to give the copies up
            copies = self._without_replaced(copies)
            failed = self._attempt(copies)
        if failed is not None:
            logger.warning("%d source offsets were not copied to the worker's offsets topic: %s", len(copies), failed)
        for copy in copies.values():
            copy.written(failed)

    def _without_replaced(self, copies: Mapping[bytes | None, _Copy]) -> Mapping[bytes | None, _Copy]:
        """The copies that no newer one replaces, which waits its turn."""
        with self._lock:
            replaced = [copies[key] for key in copies if key in self._waiting]
            left = {key: copy for key, copy in copies.items() if key not in self._waiting}
        for copy in replaced:
            copy.written(None)
        return left

    def _attempt(self, copies: Mapping[bytes | None, _Copy]) -> EosfwError | None:
        try:
            if self._producer is None:
                self._producer = self._make_producer()
            for copy in copies.values():
                self._producer.send(copy.record)
            self._producer.flush(DELIVERY_TIMEOUT)
        except Exception as error:  # noqa: BLE001 whatever it is, it is counted and must not end this thread
            self._close_producer()  # a late delivery of it must not come after the next attempt's
            return error if isinstance(error, EosfwError) else EosfwError(described(error))
        return None

    def _close_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.close(0)
