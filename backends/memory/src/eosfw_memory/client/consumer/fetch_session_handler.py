"""Tell one broker only what changed since the last fetch (KIP-227). Kafka's `FetchSessionHandler`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from eosfw.ids import TopicPartition
from eosfw_memory.common.codes import Code
from eosfw_memory.common.fetch_metadata import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, next_epoch

_LEAST_PARTITIONS: Final = 16
"""For fewer no session is begun: it would save little, and brokers keep a thousand of them only."""


class FetchRequestData(NamedTuple):
    """What the next fetch says."""

    session_id: int
    epoch: int
    to_send: Mapping[TopicPartition, int]
    """The partitions that are named, with their positions."""
    to_forget: Collection[TopicPartition]


class FetchSessionHandler:
    """The session of one reader at one broker."""

    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._known: dict[TopicPartition, int] = {}
        """What the broker knows, once it has answered."""

    def next_fetch(self, wanted: Mapping[TopicPartition, int]) -> FetchRequestData:
        """The fetch of these partitions from these positions; `on_answer` or `on_no_answer` must follow."""
        known, self._known = self._known, dict(wanted)
        if self._epoch == INITIAL_EPOCH:
            wants_session = len(wanted) >= _LEAST_PARTITIONS
            return FetchRequestData(self._session_id, INITIAL_EPOCH if wants_session else FINAL_EPOCH, wanted, ())
        changed = {one: position for one, position in wanted.items() if known.get(one) != position}
        return FetchRequestData(self._session_id, self._epoch, changed, [one for one in known if one not in wanted])

    def on_answer(self, code: int, session_id: int) -> None:
        """Take an answer: a session begins, goes on, or is over."""
        if code == Code.FETCH_SESSION_ID_NOT_FOUND or (code == Code.NONE and session_id == NO_SESSION):
            self._session_id, self._epoch = NO_SESSION, INITIAL_EPOCH
        elif code != Code.NONE:
            self.on_no_answer()
        else:
            self._session_id = session_id
            self._epoch = next_epoch(self._epoch)

    def on_no_answer(self) -> None:
        """Name all partitions next time: the broker may have taken the fetch or not. That ends the session."""
        self._epoch = INITIAL_EPOCH
