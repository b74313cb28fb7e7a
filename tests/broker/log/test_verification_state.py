"""`VerificationStateEntry`: no later batch overtakes the unverified first batch of a transaction."""

from __future__ import annotations

import uuid

import pytest

from conformance.calls import Caller
from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.log_errors import OutOfOrderSequenceNumberError
from eosfw_memory.storage.records.batch import read_header

from .log_harness import NOW, Writer

LATER_MS = 86_400_000


def refused(log, writer, sequence, *, strict=False):
    """The coordinator was asked about this batch, and it was not appended."""
    batch = writer.batch(b"refused", sequence=sequence)
    log.state.producers.maybe_create_verification_entry(read_header(batch), NOW, strict=strict)


class TestOrder:
    def test_a_later_batch_waits_for_the_one_that_was_refused_before(self, log, writer):
        """BRK-02, COR-19, KIP-890: although of a producer that is unknown here any other number would do."""
        refused(log, writer, 3)

        with pytest.raises(OutOfOrderSequenceNumberError, match="sequence number 4 came where 3 was due"):
            writer.send(b"later", sequence=4)

        assert log.high_watermark == 0
        assert [writer.send(b"v", sequence=number).base_offset for number in (3, 4)] == [0, 1]

    def test_the_lowest_refused_sequence_must_come_next(self, log, writer):
        refused(log, writer, 4)
        refused(log, writer, 2)
        refused(log, writer, 3)

        with pytest.raises(OutOfOrderSequenceNumberError, match="came where 2 was due"):
            writer.send(b"later", sequence=3)

        assert writer.send(b"first", sequence=2).base_offset == 0

    def test_a_batch_outside_the_transaction_waits_without_ending_verification(self, log, writer):
        refused(log, writer, 0)
        writer.send(b"plain", transactional=False, sequence=0)

        with pytest.raises(OutOfOrderSequenceNumberError):
            writer.send(b"later", sequence=1)

    def test_a_newer_epoch_begins_anew(self, log, writer):
        refused(log, writer, 0)
        next_holder = Writer(log, 7, epoch=1)
        refused(log, next_holder, 5)

        assert next_holder.send(b"v", sequence=5).base_offset == 0

    @pytest.mark.parametrize("strict", [True, False])
    def test_a_client_of_version_2_begins_at_0_where_it_is_unknown(self, log, writer, strict):
        """KIP-890: that the broker has forgotten its producer id is no excuse any more."""
        refused(log, writer, 2, strict=strict)

        if strict:
            with pytest.raises(OutOfOrderSequenceNumberError, match="came where 0 was due"):
                writer.send(b"v", sequence=2)
        else:
            assert writer.send(b"v", sequence=2).base_offset == 0


class TestEnd:
    def test_a_marker_ends_the_verification(self, log, writer):
        """The coordinator has spoken: what comes next is a new transaction."""
        refused(log, writer, 0)
        writer.commit()
        next_holder = Writer(log, 7)

        with pytest.raises(OutOfOrderSequenceNumberError, match="came where 0 was due"):
            next_holder.send(b"v", sequence=1)
        assert next_holder.send(b"v", sequence=0).base_offset == 1

    def test_verification_state_expires_with_its_producer(self, log, writer):
        """BRK-08."""
        refused(log, writer, 0)
        log.expire_producers(NOW + LATER_MS)

        assert writer.send(b"v", sequence=1).base_offset == 0


class TestRequests:
    @pytest.fixture
    def caller(self, embedded):
        made = Caller(embedded)
        yield made
        made.close()

    @pytest.fixture
    def name(self, caller):
        made = f"doubt-{uuid.uuid4().hex[:8]}"
        caller.create(made, 1)
        return made

    def test_a_second_batch_never_overtakes_an_unverified_first_one(self, caller, name):
        """PRD-03, KIP-890: the partition was added between them, so only the second one would be written."""
        where, producer = TopicPartition(name, 0), caller.init(name).producer
        early = caller.produce(name, producer, where, 0, 11)
        caller.add(name, producer, where)
        overtaking = caller.produce(name, producer, where, 1, 11)
        again = [caller.produce(name, producer, where, sequence, 11).code for sequence in (0, 1)]

        assert (early.code, overtaking.code) == (Code.TRANSACTION_ABORTABLE, Code.OUT_OF_ORDER_SEQUENCE_NUMBER)
        assert again == [Code.NONE, Code.NONE]

    def test_a_batch_of_an_older_epoch_leaves_no_verification_state(self, caller, name):
        """BRK-01: a zombie must not hold its successor up."""
        where, zombie = TopicPartition(name, 0), caller.init(name).producer
        producer = caller.init(name).producer
        caller.produce(name, producer, where, 0, 12)
        caller.end(name, producer, 4)
        late = caller.produce(name, zombie, where, 0, 12)

        assert late.code is Code.INVALID_PRODUCER_EPOCH
        assert caller.produce(name, producer, where, 1, 12).code is Code.NONE
