"""A source that stands still is noticed once; one that moves, or states no position, never."""

from __future__ import annotations

from eosfw.state.tasks.poll_batch import SourcePosition
from eosfw.state.tasks.stalled_offsets import POLLS, StalledOffsets


def warned_at(positions: list[SourcePosition]) -> list[int]:
    watch = StalledOffsets()
    return [number for number, position in enumerate(positions, 1) if watch.is_stalled_after(position)]


def at(offset: dict[str, int], partition: str = "a") -> SourcePosition:
    return {"p": partition}, offset


def test_many_polls_at_one_offset_are_reported_once() -> None:
    assert warned_at([at({"next": 1}) for _ in range(3 * POLLS)]) == [POLLS]


def test_an_offset_mapping_changed_in_place_counts_as_progress() -> None:
    offset = {"next": 0}

    def moved() -> SourcePosition:
        offset["next"] += 1
        return at(offset)

    watch = StalledOffsets()
    assert not any(watch.is_stalled_after(moved()) for _ in range(2 * POLLS))


def test_progress_in_time_restarts_the_count() -> None:
    assert warned_at([*[at({"next": 1})] * (POLLS - 1), *[at({"next": 2})] * (POLLS - 1)]) == []


def test_offsets_of_different_partitions_are_kept_apart() -> None:
    assert warned_at([at({"next": 1}, "ab"[number % 2]) for number in range(2 * POLLS)]) == []


def test_a_source_without_positions_is_left_alone() -> None:
    assert warned_at([at({}) for _ in range(2 * POLLS)]) == []
