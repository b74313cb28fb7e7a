"""A page learns what changes while somebody looks at it, and nothing else (UIC-06)."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack
from functools import partial

import anyio

from eosfw_console.live import LiveStreams
from eosfw_console.shared_looks import SharedLooks

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


def test_the_buttons_of_a_connector_follow_its_state(browser, herder):
    """Who has stopped a connector need not load its page again to resume it."""
    herder.put_connector("orders", ORDERS)
    with browser.stream("/ui/live/connectors/orders") as stream:
        found = events(stream)
        first = next(found)
        herder.states["orders"] = "STOPPED"
        actions = next(regions["actions"] for regions in found if "actions" in regions)

    assert 'value="stop"' in first["actions"]
    assert 'value="resume"' in actions
    assert 'value="stop"' not in actions


def test_a_page_that_is_gone_says_so(browser):
    with browser.stream("/ui/live/connectors/orders") as stream:
        assert next(events(stream)) == {"problem": "Connector orders not found"}


def test_pages_that_listen_share_their_looks(browser, herder):
    """Twenty cost the worker little more than one."""
    looks = []
    shown = herder.connector_statuses
    herder.connector_statuses = lambda: looks.append(None) or shown()
    with ExitStack() as streams:
        opened = [events(streams.enter_context(browser.stream("/ui/live"))) for _ in range(20)]
        for found in opened:
            next(found)
        looks.clear()
        for number in range(2):
            herder.put_connector(f"orders-{number}", ORDERS)
            for found in opened:
                assert f"orders-{number}" in next(found)["connectors"]

    # At most two looks in an interval, whatever the moments at which they were opened.
    assert len(looks) <= 6


def test_a_page_that_is_dear_is_looked_at_less_often():
    live, looks = LiveStreams(), []

    async def listen() -> None:
        with anyio.move_on_after(0.7):
            async for _ in live.changes("dear", lambda: looks.append("dear") or {}, interval=60):
                pass

    async def listen_to_another() -> None:
        with anyio.move_on_after(5):
            async for _ in live.changes("cheap", lambda: looks.append("cheap") or {}, interval=0.1):
                if looks.count("cheap") == 3:
                    break

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            group.start_soon(listen_to_another)

    anyio.run(both)

    assert (looks.count("dear"), looks.count("cheap")) == (1, 3)


def test_streams_of_two_visitors_are_not_shared(herder):
    """Another worker, to which a request is forwarded, may refuse one of them."""
    live, asked = LiveStreams(), []

    async def first_events() -> None:
        for visitor in ("a", "b", "a"):
            look = partial(lambda who: asked.append(who) or {"r": who}, visitor)
            async for _ in live.changes(("/ui", visitor), look):
                break

    anyio.run(first_events)

    assert asked == ["a", "b", "a"], "and the first look of a stream is never older than its page"


def test_a_look_that_fails_fails_for_its_listener_alone():
    looks, answers = SharedLooks(), iter([ZeroDivisionError(), {"r": "x"}])
    both_wait = threading.Event()

    def regions():
        both_wait.wait(10)
        found = next(answers)
        if isinstance(found, Exception):
            raise found
        return found

    async def both() -> list[object]:
        found: list[object] = []

        async def listen() -> None:
            try:
                found.append((await looks.look("k", regions, began)).regions)
            except ZeroDivisionError:
                found.append("failed")

        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            group.start_soon(listen)
            await anyio.wait_all_tasks_blocked()
            both_wait.set()
        return found

    assert sorted(anyio.run(both), key=str) == ["failed", {"r": "x"}]


def test_streams_end_with_the_worker(browser, servers):
    with browser.stream("/ui/live") as stream:
        found = events(stream)
        assert next(found)
        servers[0].close()
        assert list(found) == []
