"""Requests that a page of another site sends without asking, such as a POST without a body.

A browser asks only about those that a form could not send, and adds the password that it keeps for the worker. Where
nobody signs in, it needs none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from eosfw_rest.messages import Answer, error_message

_READING: Final = ("GET", "HEAD", "OPTIONS")
_OWN_SITES: Final = (b"same-origin", b"none")


class ForgeryCheck:
    """Refuses changes in the name of a visitor, unless the worker's properties allow the page's origin.

    By `Sec-Fetch-Site`, which every browser sends and no other client: it tells what the browser sees, so it holds
    behind a proxy, too.
    """

    def __init__(self, is_allowed: Callable[[str], bool]) -> None:
        self._is_allowed = is_allowed

    def refusal(self, method: str, headers: Sequence[tuple[bytes, bytes]]) -> Answer | None:
        """The answer to a request of a page that may not send it."""
        sites = [value for name, value in headers if name == b"sec-fetch-site"]
        if method in _READING or all(site in _OWN_SITES for site in sites):
            return None
        origins = [value.decode("latin-1") for name, value in headers if name == b"origin"]
        if origins and all(map(self._is_allowed, origins)):
            return None
        why = "The request comes from a page of another site, which access.control.allow.origin does not name"
        return error_message(403, why, {"Connection": "close"})
