"""Two streams are compared side by side; the verdict is the one of counting everything."""

from __future__ import annotations

import errno
import tempfile
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.errors import DamagedDataError
from eosfw.identity import UnidentifiedRecords
from eosfw.pipeline.verdicts.comparison import Comparison, ExpectedRecords
from eosfw.pipeline.verdicts.identity_count import SpoolError
from eosfw.protocols import Verdict
from eosfw.records import LogBatch

Records = Sequence[bytes]


def lane(*chunks: Records | None) -> ExpectedRecords:
    """A replay that gives these chunks, then ends."""
    rest = iter(chunks)
    return ExpectedRecords(lambda: next(rest, None))


def batch(records: Records, start: int = 0) -> LogBatch:
    count = len(records)
    return LogBatch("t", 0, range(start, start + count), [None] * count, records, [0] * count)


def compared(lanes: Sequence[ExpectedRecords], found: Sequence[Records], limit: int = 1000) -> Verdict:
    with Comparison(lanes, bytes, UnidentifiedRecords("value"), limit) as comparison:
        for records in found:
            comparison.take(batch(records), list(records), pause=lambda: None)
        while comparison.drain(lambda: None):
            pass
        return comparison.verdict()


def balance(expected: Records, found: Records) -> tuple[int, int]:
    """The expected verdict, by counting everything."""
    return (Counter(found) - Counter(expected)).total(), (Counter(expected) - Counter(found)).total()


FEW = st.integers(0, 40).map(lambda number: b"%d" % number)
STREAM = st.lists(st.lists(FEW, max_size=8), max_size=6)


@given(st.lists(STREAM, max_size=3), STREAM, st.sampled_from([0, 1, 5, 1000]))
def test_the_streaming_comparison_equals_counting(lanes: list[list[Records]], found: list[Records], limit: int) -> None:
    expected = [record for each in lanes for chunk in each for record in chunk]
    verdict = compared([lane(*each) for each in lanes], [each for each in found if each], limit)

    assert (verdict.duplicates, verdict.missing) == balance(expected, [one for chunk in found for one in chunk])


@given(st.randoms(use_true_random=False), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3))
def test_interleaved_partitions_and_tasks_are_compared_completely(
    random, tasks: int, partitions: int, wrong: int
) -> None:
    """Each task's records in its order, scattered over partitions; a few are lost, a few are there twice."""
    sources = [[b"%d-%d" % (task, number) for number in range(60)] for task in range(tasks)]
    logs: list[list[bytes]] = [[] for _ in range(partitions)]
    heads = [iter(source) for source in sources]
    while heads:
        head = random.choice(heads)
        record = next(head, None)
        if record is None:
            heads.remove(head)
        else:
            random.choice(logs).append(record)
    for log in logs:
        for _ in range(wrong):
            log[random.randrange(len(log) or 1) :][:1] = []
            log.insert(random.randrange(len(log) + 1), b"0-7")
    found = [log[at : at + 25] for at in (0, 25, 50, 75, 100, 125, 150, 175, 200, 225) for log in logs]

    verdict = compared(
        [lane(*[s[at : at + 7] for at in range(0, 60, 7)]) for s in sources], [f for f in found if f], 20
    )
    everything = [record for source in sources for record in source]
    assert (verdict.duplicates, verdict.missing) == balance(everything, [one for chunk in found for one in chunk])


def test_the_comparison_prints_examples() -> None:
    verdict = compared([lane([b"a", b"b", b"c", b"d"])], [[b"a", b"a", b"c", b"d", b"d"]])

    assert verdict == Verdict(2, 1, ["1 too many: a", "1 too many: d", "missing: b"])


def test_streams_in_order_use_no_temporary_storage() -> None:
    """Memory does not grow with the number of records."""
    expected, found = [b"%d" % number for number in range(10_000)], [b"%d" % number for number in range(10_000)]
    with Comparison([lane(expected)], bytes, UnidentifiedRecords("value"), limit=0) as comparison:
        comparison.take(batch(found), found, pause=lambda: None)
        assert comparison.kept == 0
        assert not comparison.spilled


def test_an_extra_record_does_not_disorder_later_records() -> None:
    """Both sides stand at the same place again behind it, so no more are compared by identity than were taken then."""
    identified: list[bytes] = []

    def identify(record: bytes) -> bytes:
        identified.append(record)
        return record

    numbers = [b"%d" % number for number in range(20_000)]
    found = [*numbers[:50], b"foreign", *numbers[50:]]
    with Comparison([lane(numbers)], identify, UnidentifiedRecords("value")) as comparison:
        comparison.take(batch(found), found, pause=lambda: None)
        assert (comparison.kept, comparison.verdict().duplicates) == (1, 1)
    assert len(identified) < 2_000


def test_a_source_that_has_nothing_for_the_moment_is_waited_for() -> None:
    pauses: list[int] = []
    with Comparison([lane([], [], [b"a"])], bytes, UnidentifiedRecords("value")) as comparison:
        comparison.take(batch([b"a"]), [b"a"], pause=lambda: pauses.append(1))
        assert comparison.verdict() == Verdict(0, 0, [])
    assert len(pauses) == 2


def test_records_without_identity_are_named() -> None:
    def identify(record: bytes) -> bytes:
        if record == b"?":
            raise DamagedDataError("no identity")
        return record

    unidentified = UnidentifiedRecords("field:n")
    with Comparison([lane([b"a", b"b"])], identify, unidentified) as comparison:
        comparison.take(batch([b"a", b"?", b"b"], 7), [b"a", b"?", b"b"], pause=lambda: None)
    assert (unidentified.count, unidentified.places) == (1, ["t-0@8"])


def test_a_full_temporary_folder_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(tempfile.SpooledTemporaryFile):  # type: ignore[type-arg]
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Full)
    with pytest.raises(SpoolError, match=r"cannot hold what is compared \(No space left on device\): .* TMPDIR"):
        compared([lane([b"%d" % n for n in range(50)])], [[b"%d" % n for n in range(50, 100)]], limit=10)
