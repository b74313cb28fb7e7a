"""Bookmarks of records: numbers, times as text, other text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from eosfw.errors import DamagedDataError
from eosfw_http.json_path import found

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_ONLY: Final = len("2020-01-01")
_FRACTION: Final = re.compile(r"[.,](\d+)")
_MILLIS: Final = 3


def bookmark_of(record: dict[str, Any], path: str) -> Any:
    """The bookmark of a record; DamagedDataError if it has none."""
    bookmark = found(record, path)
    if isinstance(bookmark, bool) or not isinstance(bookmark, int | float | str):
        raise DamagedDataError(f"a record has neither number nor text at {path}; correct incremental.path")
    return bookmark


def is_less(one: Any, other: Any, path: str) -> bool:
    """Whether a bookmark is before another: texts of times as times, so that `00:00:00Z` is before `00:00:00.5Z`."""
    try:
        return bool(_order(one) < _order(other))
    except TypeError:
        raise DamagedDataError(
            f"records have values at {path} that cannot be compared; choose another incremental.path"
        ) from None


def before(bookmark: Any, amount: int) -> Any:
    """A bookmark that is lower by a number, or earlier by seconds and written alike; None if it is neither."""
    if not isinstance(bookmark, str):
        return bookmark - amount
    moment = _moment(bookmark)
    if moment is None:
        return None
    try:
        earlier = moment - timedelta(seconds=amount)
    except OverflowError:
        return bookmark
    return _written_as(bookmark, earlier)


def _order(bookmark: Any) -> Any:
    moment = _moment(bookmark) if isinstance(bookmark, str) else None
    if moment is None:
        return bookmark
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _TIME.match(text) else None
    except ValueError:
        return None


def _written_as(example: str, moment: datetime) -> str:
    if len(example) == _DATE_ONLY:
        return moment.date().isoformat()
    fraction = _FRACTION.search(example)
    digits = 0 if fraction is None else len(fraction[1])
    precision = "microseconds" if digits > _MILLIS else "milliseconds" if digits else "seconds"
    text = moment.isoformat(sep=example[_DATE_ONLY], timespec=precision)
    return text.replace("+00:00", "Z") if example.endswith("Z") else text
