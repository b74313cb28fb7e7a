"""Measure the console of a worker: its pages, what it sends to those who listen, and what they cost the worker.

Three workers with the console and an embedded broker, each a process of its own; of 100 and then 1,000 connectors
`file`, three run and the others are stopped. For each page: bytes and time of a request, bytes of the first event and
of the event after one connector was paused, and the first contentful paint in a browser (`--browser`, by Playwright;
left out where either is missing). `GET /connectors` is asked at a steady rate, in turn with nobody and with twenty
pages that listen. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show
from contenders import started
from embedded_broker import BROKER
from rest_latency import client, cpu

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from console.worker_group import ConsoleWorker, create_file_connector, worker_group

GOALS = {"first_paint_ms": 1_000, "update_bytes": 50_000, "p99_with_over_without_listeners": 1.5}
PAGES = ("/ui", "/ui/connectors/lines-0", "/ui/transactions", "/ui/timeline")
RUNNING = 3
EVENT = b"data: "
FIRST_PAINT = """new Promise((done) => new PerformanceObserver((list) => {
    for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime);
}).observe({ type: "paint", buffered: true }))"""


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    found = sorted(seconds)
    return {
        name: round(found[min(len(found) - 1, int(len(found) * share))] * 1000, 1)
        for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99))
    }


def requests(worker: ConsoleWorker, path: str, times: int) -> dict[str, float]:
    """Load a page again and again; the first time, which imports and compiles, is told apart."""
    connection = http.client.HTTPConnection(worker.address, timeout=60)
    taken = []
    for _ in range(times + 1):
        began = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        size, status = len(answer.read()), answer.status
        taken.append(time.perf_counter() - began)
        assert status == 200, f"{path}: {status}"
    connection.close()
    return {"bytes": size, "first_ms": round(taken[0] * 1000, 1), **quantiles(taken[1:])}


@contextmanager
def events(worker: ConsoleWorker, path: str) -> Iterator[Iterator[bytes]]:
    """The events of a page that listens."""
    connection = http.client.HTTPConnection(worker.address, timeout=60)
    connection.request("GET", live(path), headers={"Accept": "text/event-stream"})
    answer = connection.getresponse()
    try:
        yield (line for line in answer if line.startswith(EVENT))
    finally:
        connection.close()


def live(path: str) -> str:
    return "/ui/live" + path.removeprefix("/ui")


def event_sizes(worker: ConsoleWorker, path: str) -> dict[str, int]:
    """Bytes of the first event, and of the largest one in a few seconds in which a connector is paused."""
    with events(worker, path) as found:
        first = len(next(found))
        worker.call("/connectors/lines-0/pause", "PUT")
        # The pages of transactions and of the timeline may have nothing new.
        sizes = [len(next(found))] if path in PAGES[:2] else []
    worker.call("/connectors/lines-0/resume", "PUT")
    worker.until("/connectors/lines-0/status", lambda status: "PAUSED" not in str(status))
    return {"first_bytes": first, "update_bytes": max(sizes, default=0)}


async def listen(address: tuple[str, int], path: str) -> None:
    reader, writer = await asyncio.open_connection(*address, limit=2**24)
    writer.write(
        f"GET {live(path)} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nAccept: text/event-stream\r\n\r\n".encode()
    )
    try:
        while await reader.read(2**16):
            pass
    finally:
        writer.close()


@asynccontextmanager
async def listening(address: tuple[str, int], count: int) -> AsyncIterator[None]:
    """So many pages are open, of each kind as many."""
    tasks = [asyncio.create_task(listen(address, PAGES[at % len(PAGES)])) for at in range(count)]
    try:
        await asyncio.sleep(min(1, count))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def one_round(worker: ConsoleWorker, listeners: int, asked: int) -> tuple[float, float]:
    """The p99 of `GET /connectors` in seconds, and the share of a processor that the worker takes."""
    host, _, port = worker.address.partition(":")
    taken: list[float] = []
    async with listening((host, int(port)), listeners):
        began, used = time.perf_counter(), cpu(worker.pid)
        await asyncio.gather(*(client((host, int(port)), asked, 0.1, one / 50, taken) for one in range(5)))
        share = (cpu(worker.pid) - used) / (time.perf_counter() - began)
    return quantiles(taken)["p99_ms"], share


async def paired(worker: ConsoleWorker, rounds: int, listeners: int, asked: int) -> dict[str, float]:
    """Rounds with and without listeners, by turns, so that other work on the machine meets both."""
    without, beside = [], []
    for _ in range(rounds):
        without.append(await one_round(worker, 0, asked))
        beside.append(await one_round(worker, listeners, asked))
    ratio = statistics.median(b[0] / a[0] for a, b in zip(without, beside, strict=True))
    found = {"p99_with_over_without_listeners": round(ratio, 2)}
    for name, values in (("without", without), ("with", beside)):
        found[f"p99_ms_{name}"] = round(statistics.median(one[0] for one in values), 1)
        found[f"percent_of_a_core_{name}"] = round(statistics.median(one[1] for one in values) * 100, 1)
    return found


def first_paints(worker: ConsoleWorker, executable: str, rounds: int) -> dict[str, float] | str:
    """Milliseconds to the first contentful paint of each page, each time in a browser that has nothing cached."""
    if find_spec("playwright") is None or not Path(executable).exists():
        return "not measured: it needs the dependency group browser, and Chromium"
    from playwright.sync_api import sync_playwright

    found: dict[str, list[float]] = {path: [] for path in PAGES}
    with sync_playwright() as playwright:
        # Containers have no sandbox; the pages are our own.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(rounds):
            for path in PAGES:
                page = browser.new_page()
                page.goto(worker.url + path, wait_until="load")
                paint = page.evaluate(FIRST_PAINT)
                found[path].append(paint)
                page.close()
        browser.close()
    return {path: round(statistics.median(times)) for path, times in found.items()}


def all_there(statuses: Any, count: int) -> bool:
    """Whether so many connectors are known, and those that run have their tasks."""
    return len(statuses) == count and str(statuses).count("'RUNNING'") == 2 * RUNNING


def measure(worker: ConsoleWorker, given: argparse.Namespace) -> dict[str, Any]:
    return {
        "requests": {path: requests(worker, path, given.requests) for path in PAGES},
        "events": {path: event_sizes(worker, path) for path in PAGES},
        "first_paint_ms": first_paints(worker, given.browser, given.rounds),
        "listeners": asyncio.run(paired(worker, given.rounds, given.listeners, given.asked)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connectors", type=int, nargs="+", default=sorted({scaled(100, 4), scaled(1_000, 5)}))
    parser.add_argument("--requests", type=int, default=scaled(200), help="of each page")
    parser.add_argument("--listeners", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=scaled(7))
    parser.add_argument("--asked", type=int, default=scaled(100, 5), help="requests of each of five clients in a round")
    parser.add_argument("--browser", default="/usr/bin/chromium", help="Chromium's executable")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        started("the embedded broker", *BROKER) as broker,
        worker_group(broker.address(), Path(name)) as workers,
    ):
        made = 0
        for count in given.connectors:
            for number in range(made, count):
                state = "RUNNING" if number < RUNNING else "STOPPED"
                create_file_connector(workers[0], Path(name), f"lines-{number}", state)
            made = count
            workers[0].until("/connectors?expand=status", lambda answer, count=count: all_there(answer, count))
            found[str(count)] = measure(workers[0], given)
    show({"connectors": found, "goals": GOALS})


if __name__ == "__main__":
    run_main(main)
