"""The URLs of pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2

from eosfw.errors import DamagedDataError

if TYPE_CHECKING:
    from eosfw.config import Config
    from eosfw_http.paging import Paging, Place


def first_page(config: Config) -> httpx2.URL:
    """The URL of the first page, without a bookmark."""
    url = httpx2.URL(config["url"], params=httpx2.QueryParams(config["query.parameters"]))
    if config["page.size.parameter"] is not None:
        url = url.copy_set_param(config["page.size.parameter"], config["page.size"])
    return url


def page_url(config: Config, pages: Paging, place: Place, least: str | None) -> httpx2.URL:
    """The URL of a page of the records that are at least at a bookmark."""
    url = first_page(config)
    try:
        if config["incremental.parameter"] is not None and least is not None:
            url = url.copy_set_param(config["incremental.parameter"], least)
        return pages.url(url, place)
    except (httpx2.InvalidURL, UnicodeError):
        raise DamagedDataError(
            "the API's cursor, link or bookmark cannot be a part of a URL; correct the path to it"
        ) from None
