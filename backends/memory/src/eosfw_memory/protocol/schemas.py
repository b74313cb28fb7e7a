"""Say of what kind the fields of a message class are."""

from __future__ import annotations

import dataclasses
from typing import Any, get_args


def is_array(kind: Any) -> bool:
    """Whether an annotation is that of an array, which may be null."""
    return getattr(kind, "__origin__", None) is tuple or any(
        getattr(arm, "__origin__", None) is tuple for arm in get_args(kind)
    )


def message_class(kind: Any) -> type:
    """The message class somewhere inside an annotation such as `tuple[X, ...] | None`."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return kind
    for arm in get_args(kind):
        if arm not in (Ellipsis, type(None)):
            return message_class(arm)
    raise TypeError(f"no message class in {kind!r}")
