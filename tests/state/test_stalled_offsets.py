"""A source that stands still is noticed once; one that moves, or states no position, never."""

from __future__ import annotations

import pytest

from eosfw.state.tasks.poll_batch import SourcePosition
from eosfw.state.tasks.stalled_offsets import POLLS, StalledOffsets


def at(offset: dict[str, int], partition: str = "a") -> SourcePosition:
    return {"p": partition}, offset


SAME, NEXT, NOWHERE = at({"next": 1}), at({"next": 2}), at({})


@pytest.mark.parametrize(
    ("positions", "noticed"),
    [
        ([SAME] * 3 * POLLS, [POLLS]),
        ([SAME] * (POLLS - 1) + [NEXT] * (POLLS - 1), []),
        ([SAME, at({"next": 1}, "b")] * POLLS, []),
        ([NOWHERE] * 2 * POLLS, []),
    ],
    ids=["standing", "moving in time", "two partitions", "no position"],
)
def test_many_polls_at_one_offset_are_reported_once(positions: list[SourcePosition], noticed: list[int]) -> None:
    watch = StalledOffsets()

    assert [poll for poll, position in enumerate(positions, 1) if watch.is_stalled_after(position)] == noticed


def test_an_offset_mapping_changed_in_place_counts_as_progress() -> None:
    watch, offset, noticed = StalledOffsets(), {"next": 0}, []
    for _ in range(2 * POLLS):
        offset["next"] += 1
        noticed.append(watch.is_stalled_after(at(offset)))

    assert not any(noticed)
