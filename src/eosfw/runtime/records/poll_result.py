"""Check what a connector's poll returned and turn it into column batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from eosfw.data import Utf8Strings
from eosfw.errors import TaskFailedError
from eosfw.records import SourceBatch, SourceRecord
from eosfw.runtime.records.validation import all_valid, validation_error
from eosfw.state.tasks.poll_batch import PollBatch, batches_of

MAX_RECORDS_PER_POLL = 1_000_000
"""Records that one poll may return: together they must fit into memory and into one transaction."""


def read_poll_result(polled: Any, task: object, *, any_data: bool = False) -> Sequence[PollBatch]:
    """What a poll returned, as columns; TaskFailedError describes anything that is neither records nor batches.

    With `any_data` keys, values and headers may be anything, since they are converted later.
    """
    if polled is None:
        return ()
    if isinstance(polled, SourceBatch):
        polled = (polled,)
    if not isinstance(polled, Sequence) or isinstance(polled, (str, bytes)):
        raise TaskFailedError(
            f"poll of task {task} returned a {type(polled).__name__}; it must return a list of SourceRecord, "
            f"a SourceBatch, a list of those, or None"
        )
    if not polled:
        return ()
    _check_count(polled, task)
    if not any_data:
        polled = [_encoded(one) for one in polled] if isinstance(polled[0], SourceBatch) else polled
    _check(polled, task, any_data=any_data)
    if isinstance(polled[0], SourceBatch):
        return [PollBatch.from_source_batch(batch) for batch in polled]
    return batches_of(polled)


def has_records(polled: Sequence[PollBatch]) -> bool:
    """Whether a poll returned records; an empty batch only states a source offset."""
    return any(map(len, polled))


def offsets_lacking(task: object) -> str:
    """The message for a batch that does not state the offset of each record where it must."""
    return (
        f"task {task} returned a SourceBatch without `source_offsets`, though its context asks for `record_offsets`: "
        f"without them records cannot be told apart; have the connector return them, or set "
        f'"eosfw.identity" to "none", "value" or "field:NAME"'
    )


def _encoded(item: Any) -> Any:
    """A batch of strings that are held as bytes, with those bytes: nothing behind it reads them."""
    if isinstance(item, SourceBatch) and isinstance(item.values, Utf8Strings):
        return replace(item, values=item.values.encoded)
    return item


def _check_count(polled: Sequence[Any], task: object) -> None:
    count = len(polled)
    if count <= MAX_RECORDS_PER_POLL and isinstance(polled[0], SourceBatch):
        count = sum(len(one) for one in polled if isinstance(one, SourceBatch))
    if count > MAX_RECORDS_PER_POLL:
        raise TaskFailedError(
            f"poll of task {task} returned {count} records at once; return at most {MAX_RECORDS_PER_POLL}, "
            f"the rest with later polls"
        )


def _check(polled: Sequence[Any], task: object, *, any_data: bool) -> None:
    if all_valid(polled, any_data=any_data):
        return
    kind = type(polled[0])
    for index, item in enumerate(polled):
        if not isinstance(item, (SourceRecord, SourceBatch)):
            raise TaskFailedError(
                f"poll of task {task} returned a {type(item).__name__} at index {index}: {item!r:.80}; "
                f"it must be a SourceRecord or a SourceBatch"
            )
        if type(item) is not kind:
            raise TaskFailedError(
                f"poll of task {task} returned records beside batches (index {index}); return one kind at a time"
            )
        if wrong := validation_error(item, any_data=any_data):
            raise TaskFailedError(f"poll of task {task}: the {type(item).__name__} at index {index} {wrong}")
