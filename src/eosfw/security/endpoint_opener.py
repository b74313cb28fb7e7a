"""Requests to the one address that a property or an option names, whatever it answers."""

from __future__ import annotations

import ssl
from typing import IO, Any
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener


def endpoint_opener(context: ssl.SSLContext) -> OpenerDirector:
    """Opens URLs, and leaves redirections unfollowed: secrets are for one address, and so is trust."""
    return build_opener(HTTPSHandler(context=context), _NoRedirects())


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, req: Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str) -> None:
        return None
