"""What a change of source offsets will do."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

_AGAIN: Final = "What lies between is read again, and its records are written once more."
_SKIPPED: Final = "What lies between is skipped: its records are never written."
_UNKNOWN: Final = "Whether that reads something again or skips something, only the connector can tell."
_DELETED: Final = (
    "The offset is deleted: the connector begins this source partition as if it had never read it, so records that "
    "were written may be written once more."
)


@dataclass(frozen=True, slots=True)
class OffsetChange:
    """One source partition with its offset before and after; None deletes it."""

    partition: Mapping[str, Any]
    old: Mapping[str, Any]
    new: Mapping[str, Any] | None


def offset_text(value: Any) -> str:
    """JSON that is the same for equal partitions or offsets: Python takes 1, 1.0 and True for equal, Kafka does not."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    # Half of a surrogate pair cannot be sent in UTF-8, but JSON has an escape for it.
    return text.encode("utf-8", "backslashreplace").decode()


def digest(offsets: Sequence[Mapping[str, Any]]) -> str:
    """Stands for all offsets of a connector, to notice that they changed."""
    return hashlib.sha256("\n".join(sorted(map(offset_text, offsets))).encode()).hexdigest()


def parsed_offset(text: str) -> Mapping[str, Any] | None:
    """The offset that a visitor typed, None for nothing; ValueError with a sentence for what is no offset."""
    if not text.strip():
        return None
    try:
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_refused_constant)
        json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as why:
        raise ValueError(f"This is no JSON: {why.msg} at line {why.lineno}, column {why.colno}.") from None
    except UnicodeEncodeError:
        raise ValueError("A text here has half of a surrogate pair, which is no character.") from None
    except RecursionError:
        raise ValueError("This is nested too deep for an offset.") from None
    problem = _offset_problem(found)
    if problem is not None:
        raise ValueError(problem)
    return dict(found)


def _offset_problem(found: Any) -> str | None:
    if not isinstance(found, dict):
        return 'An offset is a JSON object, such as {"position": 14}; an empty field deletes it.'
    for name, value in found.items():
        if isinstance(value, dict | list) or (isinstance(value, float) and not math.isfinite(value)):
            return f"The value of {name[:100]} must be a text, a number, true, false or null."
    return None


def offset_changes(
    offsets: Sequence[Mapping[str, Any]], typed: Mapping[str, Mapping[str, Any] | None]
) -> list[OffsetChange]:
    """What differs from the committed offsets; `typed` is by the text of the source partition."""
    return [
        OffsetChange(one["partition"], one["offset"], typed[key])
        for one in offsets
        if (key := offset_text(one["partition"])) in typed and offset_text(typed[key]) != offset_text(one["offset"])
    ]


def effect(change: OffsetChange) -> list[str]:
    """What a change will do, in sentences, as far as it can be told without the connector."""
    if change.new is None:
        return [_DELETED]
    names = [*change.old, *(name for name in change.new if name not in change.old)]
    sentences, directions = [], set()
    for name in names:
        old, new = _value(change.old, name), _value(change.new, name)
        if old != new:
            distance = _distance(change.old.get(name), change.new.get(name))
            directions.add("unknown" if not distance else "back" if distance < 0 else "forward")
            sentences.append(_difference(name, old, new, distance))
    conclusion = {frozenset({"back"}): _AGAIN, frozenset({"forward"}): _SKIPPED}.get(frozenset(directions), _UNKNOWN)
    return [*sentences, conclusion]


def _value(offset: Mapping[str, Any], name: str) -> str | None:
    return offset_text(offset[name]) if name in offset else None


def _distance(old: Any, new: Any) -> int | Decimal | None:
    """How far a number moves; None for what is no number."""
    if not (_is_number(old) and _is_number(new)):
        return None
    if isinstance(old, int) and isinstance(new, int):
        return new - old
    return Decimal(str(new)) - Decimal(str(old))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _difference(name: str, old: str | None, new: str | None, distance: int | Decimal | None) -> str:
    if distance:
        return f"{name} goes {'back' if distance < 0 else 'forward'} by {abs(distance):,}, from {old} to {new}."
    if old is None:
        return f"{name} is added: {new}."
    if new is None:
        return f"{name} is removed; it was {old}."
    return f"{name} changes from {old} to {new}."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("This has a name twice in one object; which value counts?")
    return found


def _refused_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON.")
