"""The look-ups behind a fetch, each beside a model that scans."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.storage.log.transaction_index import TransactionIndex
from eosfw_memory.storage.log.undecided_transactions import UndecidedTransactions

from .log_harness import unhurried


@dataclass(frozen=True)
class Aborted:
    producer_id: int
    first: int
    marker: int


# Each step begins a transaction of a producer or ends the one it has open; every step takes one offset.
steps = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=400)


def played(turns: list[tuple[int, bool]]) -> tuple[TransactionIndex, list[Aborted], int]:
    """The index after these turns, the same as a list, the end of the log."""
    index, scanned, open_ = TransactionIndex(), [], {}
    for offset, (producer_id, aborts) in enumerate(turns):
        first = open_.pop(producer_id, None)
        if first is None:
            open_[producer_id] = offset
        elif aborts:
            index.add(producer_id, first, offset, min(open_.values(), default=offset + 1))
            scanned.append(Aborted(producer_id, first, offset))
    return index, scanned, len(turns)


class TestAborted:
    @unhurried
    @given(steps, st.data())
    def test_bisection_finds_what_a_scan_finds(self, turns, data):
        """BRK-07: however transactions overlap."""
        index, scanned, end = played(turns)
        start = data.draw(st.integers(0, end))
        stop = data.draw(st.integers(start, end))

        found = index.between(start, stop)

        wanted = [(each.producer_id, each.first) for each in scanned if each.marker >= start and each.first < stop]
        assert [tuple(each) for each in found] == wanted

    def test_the_transaction_index_skips_blocks_of_short_transactions(self):
        """BRK-07: hundreds that began behind the range ended before a transaction that reaches into it."""
        index = TransactionIndex()
        for n in range(1000):
            index.add(2, 10 + 2 * n, 11 + 2 * n, 0)
        index.add(1, 0, 2011, 2012)

        assert index.between(0, 10) == ((1, 0),)
        assert index.between(500, 504) == ((2, 500), (2, 502), (1, 0))
        assert list(index._spans(0, 1001, 10)) == [(960, 1001)]


class TestOpen:
    def test_ended_transactions_behind_a_hanging_one_use_no_memory(self):
        """BRK-06: a producer that hangs for a day must not fill the broker."""
        transactions = UndecidedTransactions()
        transactions.begin(1, 0)

        for offset in range(1, 10_000):
            transactions.begin(2, offset)
            transactions.end(offset)

        assert transactions.first_undecided == 0
        assert len(transactions._line) < 100
