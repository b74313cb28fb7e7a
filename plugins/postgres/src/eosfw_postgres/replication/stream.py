"""The replication stream of a slot: messages in, confirmations out."""

from __future__ import annotations

import logging
from struct import Struct
from typing import TYPE_CHECKING

import psycopg
from psycopg import pq

from eosfw_postgres.connection import received_within
from eosfw_postgres.errors import from_result, translated, translation, unpublished
from eosfw_postgres.pgoutput import lsn_text

if TYPE_CHECKING:
    from eosfw.concurrency import Runtime
    from eosfw_postgres.connection import Database

__all__ = ["ReplicationStream"]

_LOG = logging.getLogger(__name__)
_WAL_DATA, _KEEPALIVE = b"wk"
_LOAD_PUBLICATIONS = b"LoadPublications"
"""The function of the server that warns of a publication; the text of a warning is in the server's language."""
_HEADER = 25
"""Bytes before a message of the output plugin: kind, its LSN, the end of the log, the server's time."""
_KEEPALIVE_MESSAGE = Struct(">BQqB")
_STATUS = Struct(">BQQQqB")
_POSTGRES_EPOCH = 946_684_800


class ReplicationStream:
    """Messages of a slot from an LSN on; one thread uses it.

    `log_end` is the LSN up to which the server has read its log: every transaction that was committed before it was
    sent before. `confirm` lets the server forget the log before an LSN.
    """

    def __init__(self, database: Database, slot: str, publication: str, start: int, runtime: Runtime) -> None:
        self._database, self._runtime = database, runtime
        self.log_end = start
        self.message_lsn = start
        """The LSN of the message that was read last."""
        self.confirmed = 0
        self._publication = publication
        self._published_from = 0
        self._is_unpublished = False
        self._noted = ""
        self._told_at = runtime.now()
        self._connection = database.replication_connection()
        try:
            self._start(slot, publication, start)
        except BaseException:
            self.close()
            raise

    @property
    def backend_pid(self) -> int:
        """The process of the server that sends."""
        return self._connection.backend_pid

    def published_from(self, lsn: int) -> None:
        """Changes before an LSN may be older than the publication: the server may leave them out."""
        self._published_from = lsn

    def read(self, timeout: float) -> bytes | None:
        """The next message of the output plugin; None if there is none within `timeout` seconds."""
        try:
            message = self._received()
            if message is not None:
                return message
            deadline = self._runtime.now() + timeout
            while self._arrives(deadline):
                message = self._received()
                if message is not None:
                    return message
        except psycopg.Error as error:
            raise translation(error, str(self._database)) from None
        return None

    def _received(self) -> bytes | None:
        """The next message of those that have arrived."""
        while True:
            size, data = self._connection.get_copy_data(1)
            if self._is_unpublished:
                raise unpublished(self._publication)
            if size == 0:
                return None
            if size < 0:
                self._ended()
            if data[0] == _WAL_DATA:
                self.message_lsn = int.from_bytes(data[1:9], "big")
                return bytes(data[_HEADER:])
            self._keepalive(data)

    def _arrives(self, deadline: float) -> bool:
        """Wait for more bytes; False if none come before the deadline."""
        return received_within(self._connection, max(0.0, deadline - self._runtime.now()))

    def confirm(self, lsn: int) -> None:
        """Tell the server that what lies before an LSN is not needed any more."""
        if lsn > self.confirmed:
            self.confirmed = lsn
            self._tell()

    def keep_alive(self, interval: float) -> None:
        """Tell the server that the stream is alive, if it was not told within `interval` seconds."""
        if self._runtime.now() - self._told_at >= interval:
            self._tell()

    def close(self) -> None:
        """End the stream; the slot stays."""
        self._connection.finish()

    def _start(self, slot: str, publication: str, start: int) -> None:
        name = publication.replace("'", "''").replace('"', '""')
        self._database.command(
            self._connection,
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text(start)} '
            f"(proto_version '1', publication_names '\"{name}\"')",
        )
        self._connection.notice_handler = self._noticed
        # Sending never waits: a server that does not read would hold up the task.
        self._connection.nonblocking = 1

    def _noticed(self, notice: pq.abc.PGresult) -> None:
        # From version 18 on the server warns of a publication that did not exist, and goes on without the changes.
        if notice.error_field(pq.DiagnosticField.SOURCE_FUNCTION) == _LOAD_PUBLICATIONS:
            self._is_unpublished = max(self.log_end, self.message_lsn) >= self._published_from
            return
        # Such as that it waits for a standby (synchronized_standby_slots), again and again.
        said = (notice.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode(errors="replace")
        if said != self._noted:
            self._noted = said
            _LOG.warning("the server of %s says: %s", self._database, said)

    def _keepalive(self, data: memoryview) -> None:
        _, end, _, reply = _KEEPALIVE_MESSAGE.unpack(data[: _KEEPALIVE_MESSAGE.size])
        self.log_end = max(self.log_end, end)
        if reply:
            self._tell()

    def _tell(self) -> None:
        self._told_at = self._runtime.now()
        micros = int((self._runtime.wall() - _POSTGRES_EPOCH) * 1_000_000)
        status = _STATUS.pack(ord("r"), max(self.log_end, self.confirmed), self.confirmed, self.confirmed, micros, 0)
        with translated(str(self._database)):
            self._connection.put_copy_data(status)
            self._connection.flush()

    def _ended(self) -> None:
        """Raise what ended the stream; a server that is stopped says nothing."""
        result = self._connection.get_result()
        if result is not None and result.status == pq.ExecStatus.FATAL_ERROR:
            raise from_result(result)
        raise psycopg.OperationalError("the server has ended the replication stream")
