"""Mask the secrets of a tap's configuration in what the tap writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SECRET: Final = re.compile(
    r"pass|pwd|secret|token|key|credential|auth|private|dsn|conn|user_?info|url|uri|cookie|header", re.IGNORECASE
)
_SHORTEST: Final = 4
"""A shorter value, such as `1`, would mask half of each line."""
MASK: Final = "[hidden]"


def masker(config: Any) -> Callable[[str], str]:
    """A function that masks values of a configuration with names like those of secrets, also as URLs have them."""
    plain = {one for one in _secrets(config, secret=False) if len(one) >= _SHORTEST}
    found = {form for one in plain for form in (one, quote(one), quote(one, safe=""), quote_plus(one))}
    if not found:
        return str
    # The longest first: one may be a part of another.
    pattern = re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))))
    return lambda text: pattern.sub(MASK, text)


def _secrets(value: Any, *, secret: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _secrets(one, secret=secret or _SECRET.search(str(name)) is not None)
    elif isinstance(value, list):
        for one in value:
            yield from _secrets(one, secret=secret)
    elif secret and isinstance(value, str | int) and not isinstance(value, bool):
        yield str(value)
        yield from (line for line in str(value).splitlines() if line != value)
