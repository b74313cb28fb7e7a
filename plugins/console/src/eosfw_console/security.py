"""What keeps a page of another origin from using the console in a visitor's name."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

COOKIE: Final = "eosfw-console"
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # With `no-referrer` browsers would send `Origin: null` with the forms of these pages, as if they were of nobody.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# A picture styles itself; it runs nothing and loads nothing.
PICTURE_HEADERS: Final = {**HEADERS, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_OWN_SITES: Final = ("same-origin", "none")


def new_token() -> str:
    """A token that no other origin can guess: it is in a cookie and in each form."""
    return secrets.token_urlsafe(32)


def set_cookie(token: str, *, secure: bool) -> str:
    """The header that gives a browser its token; any worker of the group accepts it."""
    return f"{COOKIE}={token}; Path=/ui; HttpOnly; SameSite=Strict" + ("; Secure" if secure else "")


def forgery_problem(headers: Mapping[str, str], cookie: str | None, token: str) -> str | None:
    """Why a request to change something may come from a page of another origin; None if it does not."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        # Browsers send it by HTTPS and to their own machine. It also holds behind a proxy that gives its own Host.
        if site not in _OWN_SITES:
            return "the request comes from a page of another site"
    elif origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return "the request comes from a page of another origin"
    if not cookie or not hmac.compare_digest(cookie.encode(), token.encode()):
        return "the form is not of this browser, or its cookie is gone: load the page again"
    return None
