"""Backends that write offsets outside the transaction of their records; contracts must detect each."""

from __future__ import annotations

from tests.pytest_eos.broken import Through
from tests.pytest_eos.broken_promises import OtherProducers

WAIT = 10.0


class Outside(Through):
    """A producer that keeps offsets, of sources and of groups, to write them when it likes."""

    def __init__(self, real, backend):
        super().__init__(real)
        self._backend, self.kept = backend, []

    def send(self, record, on_delivery=None):
        if record.topic.endswith("-offsets"):
            self.kept.append(lambda: self._send(record))
        else:
            self.real.send(record, on_delivery)

    def send_offsets(self, offsets, group, timeout):
        self.kept.append(lambda: self._send_offsets(offsets, group))

    def abort_transaction(self, timeout):
        self.kept.clear()
        self.real.abort_transaction(timeout)

    def write_kept(self):
        kept, self.kept = self.kept, []
        for write in kept:
            write()

    def _send(self, record):
        plain = self._backend.producer(None)
        plain.send(record)
        plain.flush(WAIT)
        plain.close()

    def _send_offsets(self, offsets, group):
        other = self._backend.producer(f"{group.group_id}-outside")
        other.init_transactions(WAIT)
        other.begin_transaction()
        other.send_offsets(offsets, group, WAIT)
        other.commit_transaction(WAIT)
        other.close()


class OffsetsOutside(Through):
    """A backend with such producers."""

    how: type[Outside]

    def producer(self, transactional_id, **how):
        return self.how(self.real.producer(transactional_id, **how), self.real)


class AtOnceProducer(Outside):
    def send(self, record, on_delivery=None):
        super().send(record, on_delivery)
        self.write_kept()

    def send_offsets(self, offsets, group, timeout):
        super().send_offsets(offsets, group, timeout)
        self.write_kept()


class OffsetsAtOnce(OffsetsOutside):
    """Writes offsets as soon as it gets them."""

    how = AtOnceProducer


class BeforeProducer(Outside):
    def commit_transaction(self, timeout):
        self.write_kept()
        self.real.commit_transaction(timeout)


class OffsetsBefore(OffsetsOutside):
    """Writes offsets when it commits, before it does."""

    how = BeforeProducer


class AfterProducer(Outside):
    def commit_transaction(self, timeout):
        self.real.commit_transaction(timeout)
        self.write_kept()


class OffsetsAfter(OffsetsOutside):
    """Writes offsets once the records are committed."""

    how = AfterProducer


class MutedProducer(Through):
    def send_offsets(self, offsets, group, timeout):
        return


class NoGroupOffsets(OtherProducers):
    """Takes a group's offsets, and does nothing."""

    how = MutedProducer
