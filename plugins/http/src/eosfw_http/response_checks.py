"""Ask an API once more where properties that do not fit it would lose records without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eosfw.errors import ConfigError, DamagedDataError, Problem
from eosfw_http.urls import page_url

if TYPE_CHECKING:
    from eosfw.config import Config
    from eosfw_http.api import Answer, Api
    from eosfw_http.paging import Paging, Place
    from eosfw_http.positions import Position

_RAREST: Final = 64
"""Answers without a next page per question about it."""


class ResponseChecks:
    """What may be wrong with `page.size`, with `incremental.parameter`, and with a list that is read by its places."""

    def __init__(self, api: Api, config: Config, paging: Paging, position: Position) -> None:
        self._api, self._config, self._paging, self._position = api, config, paging, position
        self._ends, self._pause = 0, 1
        """How many last pages came since the last question, and before how many the next one is asked."""
        self._trusts_filter = False
        self._cleared: str | None = None
        """The bookmark that was asked for last, to no effect."""

    @property
    def is_due(self) -> bool:
        """Whether a last page is to be checked; then it must come, even if it has not changed."""
        may_be_wrong = self._paging.may_end_early or self._preceding(self._position.place) is not None
        return may_be_wrong and self._ends + 1 >= self._pause

    def unchanged(self) -> None:
        """Count a last page that has not changed."""
        self._ends += 1

    def last_page(self, place: Place, answer: Answer) -> None:
        """Refuse what makes a page seem to be the last forever: a wrong `page.size`, or a list that has shrunk."""
        preceding = None if answer.records else self._preceding(place)
        if not self.is_due or not (answer.records or preceding):
            self._ends += 1
            return
        self._ends, self._pause = 0, min(2 * self._pause, _RAREST)
        if preceding is None:
            self._page_size(place, answer)
        else:
            self._refuse_shrunk(*preceding)

    def _page_size(self, place: Place, answer: Answer) -> None:
        if not self._is_followed(place, answer):
            return
        # Records may have come between the two requests; then the page is full by now.
        again = self._api.get(answer.url, {})
        if again is not None and self._paging.following(place, again) is None:
            raise DamagedDataError(
                f"a page has {len(again.records)} records, and there is one behind it, but page.size is "
                f"{self._config['page.size']}: set it to what the API gives"
            )

    def _preceding(self, place: Place) -> tuple[Place, int] | None:
        # With bookmarks a place is one among the records behind the bookmark, and begins anew with the next one.
        return None if self._config["incremental.path"] else self._paging.preceding(place)

    def _refuse_shrunk(self, place: Place, least: int) -> None:
        """Refuse a list in which records were removed: what comes would lie before the place that is asked for."""
        there = self._api.get(page_url(self._config, self._paging, place, None), {})
        if there is not None and len(there.records) < least:
            raise DamagedDataError(
                f"the page at offset {place['offset']} has {len(there.records)} records, and {least} of it were read: "
                f"records were removed; read the API with incremental.path"
            )

    def filter(self, answer: Answer) -> None:
        """Refuse an API that leaves out the records at the bookmark: those that share it would be lost."""
        earlier = None if self._config["incremental.parameter"] is None else self._position.earlier_bookmark
        if self._trusts_filter or earlier in (None, self._cleared):
            return
        if self._position.knows(answer.records):
            self._trusts_filter = True
            return
        # The record at the bookmark may have changed or gone: then it is not here, either.
        more = self._api.get(page_url(self._config, self._paging, {}, earlier), {})
        if more is not None and self._position.knows(more.records):
            name = self._config["incremental.parameter"]
            sentence = f"the API leaves out the records at {name} itself, so some would be lost; set it to 1"
            raise ConfigError(Problem("incremental.overlap", sentence))
        self._cleared = earlier

    def _is_followed(self, place: Place, answer: Answer) -> bool:
        beyond = self._paging.beyond(place)
        try:
            more = self._api.get(page_url(self._config, self._paging, beyond, self._position.least), {})
        except ConfigError:  # some APIs refuse to give a page behind the last one, some give the last one again
            return False
        return more is not None and bool(more.records) and more.records != answer.records
