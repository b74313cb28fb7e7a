"""Pages can be used by keyboard and with a screen reader (WCAG 2.2, level AA)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise

import pytest

from .test_streaming import ARCHIVE, LARGE

CSS = files("eosfw_console").joinpath("static", "console.css").read_text()
COLOURS = dict(re.findall(r"--(\w+): (light-dark\(.*?\));", CSS))
PAGES = (
    "/ui",
    "/ui/connectors/orders",
    "/ui/connectors/orders/config",
    "/ui/connectors/orders/offsets",
    "/ui/transactions",
    "/ui/timeline",
    "/ui/streaming",
    "/ui/connectors/nobody",
)
FIELDS = {"input", "select", "textarea"}
VOID = {"input", "meta", "link", "br", "img", "polyline"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    parents: list[Element]
    text: str = ""
    ids: set[str] = field(default_factory=set)


class Elements(HTMLParser):
    """All elements of a page, in order, with what they lie in."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[Element] = []
        self._open: list[Element] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append(Element(tag, dict(attrs), list(self._open)))
        if tag not in VOID:
            self._open.append(self.found[-1])

    def handle_startendtag(self, tag, attrs):
        self.found.append(Element(tag, dict(attrs), list(self._open)))

    def handle_endtag(self, tag):
        while self._open and self._open.pop().tag != tag:
            pass

    def handle_data(self, data):
        for one in self._open:
            one.text += data

    def of(self, *tags: str) -> list[Element]:
        return [one for one in self.found if one.tag in tags]


@pytest.fixture(params=PAGES)
def page(request, browser, herder) -> Elements:
    herder.put_connector("orders", {"name": "orders", "connector.class": "file", "file": "x", "topic": "t"})
    herder.queries = [LARGE, ARCHIVE]
    return Elements(browser.get(request.param).text)


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(one * 2 for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def schemes(pair: str) -> list[str]:
    """The light and the dark colour of a pair."""
    return re.findall(r"#[0-9a-f]{3,6}", pair)


@pytest.mark.parametrize("ground", ["back", "soft"])
@pytest.mark.parametrize("ink", ["text", "weak", "link", "good", "bad", "warn"])
def test_text_stands_out_from_its_ground_in_light_and_dark(ink, ground):
    ratios = [contrast(*both) for both in zip(schemes(COLOURS[ink]), schemes(COLOURS[ground]), strict=True)]

    assert len(ratios) == 2
    assert min(ratios) >= 4.5, ratios


def test_edges_of_fields_stand_out():
    """Success criterion 1.4.11: 3 to 1 for what shows where a field is."""
    for ground in ("back", "soft"):
        assert (
            min(contrast(*both) for both in zip(schemes(COLOURS["edge"]), schemes(COLOURS[ground]), strict=True)) >= 3
        )


def test_colours_are_properties():
    """Whoever adds one adds it where these tests look."""
    rules = CSS.split("}", 1)[1]

    assert set(COLOURS) == {"back", "text", "weak", "line", "soft", "link", "good", "bad", "warn", "edge"}
    assert "light-dark" not in rules
    assert not re.search(r":[^;{}]*#[0-9a-f]{3}", rules)


def test_a_page_says_its_language_and_its_title(page):
    assert [one.attributes["lang"] for one in page.of("html")] == ["en"]
    assert all(one.text.strip() for one in page.of("title"))


def test_headings_leave_no_level_out(page):
    levels = [int(one.tag[1]) for one in page.of("h1", "h2", "h3", "h4")]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_each_field_has_a_label(page):
    labels = {one.attributes.get("for") for one in page.of("label")}
    for one in page.of(*FIELDS):
        if one.attributes.get("type") != "hidden":
            within = any(parent.tag == "label" and parent.text.strip() for parent in one.parents)
            assert within or "aria-label" in one.attributes or one.attributes.get("id") in labels - {None}, one


def test_whatever_acts_is_reached_and_named(page):
    for one in page.of("a", "button", "summary"):
        within = [each for each in page.found if one in each.parents and each.attributes.get("alt")]
        assert one.text.strip() or within or one.attributes.get("aria-label"), one
    assert all(one.attributes.get("href") for one in page.of("a"))
    assert not [one for one in page.found if int(one.attributes.get("tabindex") or 0) > 0]
    first = page.of("a")[0].attributes["href"]
    assert first == "#content", "the first link leads past what all pages have"


def test_pictures_and_tables_can_be_listened_to(page):
    assert all(one.attributes.get("alt") for one in page.of("img"))
    assert all(one.attributes.get("aria-label") for one in page.of("svg"))
    assert all(one.attributes.get("scope") in ("col", "row") for one in page.of("th"))


def test_ids_are_unique_and_what_refers_to_one_finds_it(page):
    ids = [one.attributes["id"] for one in page.found if one.attributes.get("id")]
    referred = [
        name
        for one in page.found
        for kind in ("aria-labelledby", "aria-describedby", "for")
        for name in (one.attributes.get(kind) or "").split()
    ]

    assert len(ids) == len(set(ids))
    assert set(referred) <= set(ids)
