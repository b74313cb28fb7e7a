"""What the topic of a group's members says of its workers."""

from __future__ import annotations

from eosfw.state.group.assignment import ClusterAssignment
from eosfw.state.group.member_records import MembersLog, WorkerRecord, assignment_record, worker_record, worker_removal


def test_worker_records_replace_each_other_until_removed():
    log = MembersLog()
    for acknowledged in (0, 7):
        record = worker_record(WorkerRecord("ä-1", "http://h:1", "preparing", "1.0", acknowledged))
        assert log.apply(*record) is None

    assert log.workers == {"ä-1": WorkerRecord("ä-1", "http://h:1", "preparing", "1.0", 7)}
    log.apply(*worker_removal("ä-1"))
    assert log.workers == {}


def test_malformed_member_records_are_skipped_with_a_reason():
    log = MembersLog()
    good = assignment_record(ClusterAssignment(number=3))
    log.apply(*good)
    bad = [
        (b"assignment", b"{"),
        (b"assignment", b"[]"),
        (b"assignment", b'{"number":"3"}'),
        (b"worker-a", b"{}"),
        (b"worker-a", b"1"),
        (b"other", b"{}"),
        (b"assign", assignment_record(ClusterAssignment(number=9)).value),
        (None, b"{}"),
        (b"\xff", None),
    ]
    for key, value in bad:
        assert log.apply(key, value)

    assert log.assignment.number == 3
    assert log.workers == {}
