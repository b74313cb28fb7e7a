"""The place of a tap: the source offset behind a STATE, or behind so many of the rows that follow it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from eosfw.errors import DamagedDataError
from eosfw_singer.state_text import exact_number

if TYPE_CHECKING:
    from eosfw.records import SourceOffset

_PASSING: Final = ("progress_markers", "starting_replication_value", "replication_key_signpost")
"""What Singer SDK writes into a STATE about the run that is under way; a tap that is started with it drops that."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a tap is started again."""

    state: str | None = None
    """The tap's STATE as JSON; None before the first."""
    number: int = 0
    """How many places of a STATE there were before: one STATE may come again, a place does not."""
    rows: int = 0
    """How many rows behind the STATE were sent."""
    repeats: str | None = None
    """The rows before the STATE that the tap may give again (`Repeats.text`)."""

    @classmethod
    def of(cls, offset: SourceOffset) -> Position:
        """The place of a source offset; DamagedDataError if it is none."""
        state, repeats = offset.get("state"), offset.get("repeats")
        number, rows = offset.get("number", 0), offset.get("rows", 0)
        texts = all(one is None or isinstance(one, str) for one in (state, repeats))
        if not texts or not isinstance(number, int) or not isinstance(rows, int) or not _is_json(state):
            raise DamagedDataError(
                "the source offset is none of a tap: it has a 'state', the tap's STATE as a text of JSON, and whole "
                "numbers 'number' and 'rows'; reset the connector's offsets"
            )
        return cls(state, number, rows, repeats)  # type: ignore[arg-type] # texts, as was seen

    @property
    def offset(self) -> SourceOffset:
        """The source offset of the place."""
        return {"state": self.state, "number": self.number, "rows": self.rows, "repeats": self.repeats}

    def behind(self, rows: int) -> Position:
        """The place so many rows behind the STATE."""
        return replace(self, rows=rows)

    def next(self, state: str | None, repeats: str | None) -> Position:
        """The place behind the next STATE."""
        return Position(state, self.number + 1, 0, repeats)

    def value(self) -> Any:
        """The STATE; None before the first."""
        return None if self.state is None else json.loads(self.state, parse_float=exact_number)


def _is_json(text: object) -> bool:
    try:
        return text is None or json.loads(str(text)) is not None
    except ValueError:
        return False


def can_resume(state: Any) -> bool:
    """Whether a tap goes on at this STATE, as far as it says: Singer SDK marks where it would start a stream anew."""
    return not _mentions(state, "progress_markers")


def without_passing(state: Any) -> Any:
    """A STATE without what is true of the present run alone."""
    if isinstance(state, dict):
        return {name: without_passing(one) for name, one in state.items() if name not in _PASSING}
    return [without_passing(one) for one in state] if isinstance(state, list) else state


def _mentions(state: Any, name: str) -> bool:
    if isinstance(state, dict):
        return bool(state.get(name)) or any(_mentions(one, name) for one in state.values())
    return isinstance(state, list) and any(_mentions(one, name) for one in state)
