"""A page learns what changes while somebody looks at it, and nothing else (UIC-06)."""

from __future__ import annotations

import json

ORDERS = {"name": "orders", "connector.class": "file", "file": "x", "topic": "t"}


def events(stream):
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


def test_only_regions_that_changed_are_sent(browser, herder):
    with browser.stream("/ui/live") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        found = events(stream)
        first = next(found)
        herder.put_connector("orders", ORDERS)
        second = next(found)

    assert set(first) == {"notices", "workers", "connectors"}
    assert "There is no connector yet" in first["connectors"]
    assert set(second) == {"workers", "connectors"}, "nothing is to be noticed before or after"
    assert 'href="/ui/connectors/orders"' in second["connectors"]


def test_a_stream_shows_what_the_page_shows(browser, herder):
    """Both come from the same blocks, so a page without scripts lacks nothing."""
    herder.put_connector("orders", ORDERS)
    for path in ("", "/connectors/orders", "/transactions"):
        with browser.stream(f"/ui/live{path}") as stream:
            regions = next(events(stream))
        page = browser.get(f"/ui{path}").text
        for name, html in regions.items():
            assert f'id="region-{name}"' in page
            # A second look has rates, where the first one says how to get them.
            assert name == "rates" or html.strip() in page


def test_a_page_that_is_gone_says_so(browser):
    with browser.stream("/ui/live/connectors/orders") as stream:
        assert next(events(stream)) == {"problem": "Connector orders not found"}


def test_streams_end_with_the_worker(browser, servers):
    with browser.stream("/ui/live") as stream:
        found = events(stream)
        assert next(found)
        servers[0].close()
        assert list(found) == []
