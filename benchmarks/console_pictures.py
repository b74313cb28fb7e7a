"""Take the pictures of the console for docs/how-to/use-the-console.md, in Chromium.

A group of three workers on an embedded broker has connectors that run, one that failed and one that is paused; a
producer of nobody holds a transaction open. `eosfw demo --console` has a zombie that was fenced,
`eosfw run --console` has streaming steps.
`--width 390 --into FOLDER` shows how the pages look on a telephone, `--dark` in the dark.
"""

from __future__ import annotations

import argparse
import base64
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from console.worker_group import ConsoleWorker, create_file_connector, worker_group
from eosfw.concurrency import ThreadRuntime
from eosfw.records import ProducerRecord
from eosfw.registry import load_plugins

INTO = Path(__file__).parents[1] / "docs" / "how-to" / "console"
PICTURES = {
    "group": "/ui",
    "connector": "/ui/connectors/orders",
    "failed": "/ui/connectors/returns",
    "configuration": "/ui/connectors/orders/config",
    "offsets": "/ui/connectors/archive/offsets",
    "transactions": "/ui/transactions",
    "timeline": "/ui/timeline?minutes=1",
}
PICTURES_OF_DEMO = {"demo": "/ui/timeline"}
PICTURES_OF_RUN = {"streaming": "/ui/streaming"}
PIPELINE = """
[worker]
"group.id" = "shop"
[connectors.orders]
"connector.class" = "file"
file = "orders.txt"
topic = "orders"
[[steps]]
name = "large-orders"
inputs.orders = { topic = "orders" }
sql = "SELECT key, value FROM orders WHERE CAST(value AS STRING) LIKE '%7%'"
output = { topic = "large-orders" }
trigger = "2 seconds"
[[steps]]
name = "archive"
inputs.orders = { topic = "large-orders" }
sql = "SELECT CAST(value AS STRING) AS value FROM orders"
output = "archive"
trigger = "2 seconds"
"""
BATCHES = 5
"""Of each streaming step, for its table."""
MAIN = "from eosfw.cli import main; main()"
PLAIN_FOLDER = """(folder) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(folder, "/data");
}"""
"""Writes the folder of this run, which has another name each time, as one that stays."""
LEAST = 300
"""The height of a page with little on it."""
MOST = 1_300
"""Where the picture of a long page ends."""
LOOKS = 25
"""At a connector, two seconds apart, so that its rates have a line."""


@contextmanager
def group() -> Iterator[tuple[ConsoleWorker, Path]]:
    """One of three workers whose pages have something to show, and the folder of their files."""
    runtime = ThreadRuntime()
    cluster = load_plugins().cluster("memory").start({}, runtime)
    client = load_plugins().backend("memory").connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime)
    with tempfile.TemporaryDirectory() as name, worker_group(cluster.bootstrap_servers, Path(name)) as workers:
        folder, first = Path(name), workers[0]
        files = [create_file_connector(first, folder, one) for one in ("orders", "payments")]
        create_file_connector(first, folder, "archive")
        create_file_connector(first, folder, "stock", "PAUSED")
        create_file_connector(first, folder, "returns", format="jsonl")
        first.until("/connectors/archive/offsets", lambda found: found["offsets"])
        first.call("/connectors/archive/stop", "PUT")
        with written(files):
            for _ in range(LOOKS):
                first.read("/ui/connectors/orders")
                time.sleep(2)
            producer = client.producer("billing-7")
            producer.init_transactions(60)
            producer.begin_transaction()
            producer.send(ProducerRecord("orders", b"a line of somebody else"))
            producer.flush(60)
            yield first, folder
    client.close()
    cluster.close()


@contextmanager
def written(files: Sequence[Path]) -> Iterator[None]:
    """Lines come meanwhile, more and fewer by turns."""
    ended = threading.Event()

    def write() -> None:
        at = 0
        while not ended.wait(0.1):
            at += 1
            for number, file in enumerate(files):
                with file.open("a") as lines:
                    lines.write("a line\n" * (3 + (at // 50 + number) % 3))

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def demo() -> Iterator[tuple[str, Path]]:
    """The address of the console of a demo that is over, and the folder of its output."""
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", MAIN, "demo", "--no-spark", "--console", "--output", name]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            said = next(line for line in process.stderr or () if "until Ctrl-C" in line)
            yield said.split()[-3].removesuffix("/ui"), Path(name)
            process.send_signal(signal.SIGINT)


@contextmanager
def run() -> Iterator[tuple[str, Path]]:
    """The address of the console of a run with streaming steps, and the folder of its files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "flow.toml").write_text(PIPELINE)
        (folder / "orders.txt").write_text("".join(f"order {number}\n" for number in range(300)))
        command = [sys.executable, "-c", MAIN, "run", "--follow", "--console", str(folder / "flow.toml")]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            url = next(line for line in process.stderr or () if "console at" in line).split()[-1].removesuffix("/ui")
            draining = threading.Thread(target=process.stderr.read)  # type: ignore[union-attr] # it is a pipe
            draining.start()
            number = 300
            while not _have_batches(url):
                number += 1
                with (folder / "orders.txt").open("a") as lines:
                    lines.write(f"order {number}\norder {number}7\n")
                time.sleep(0.5)
            yield url, folder
            process.send_signal(signal.SIGINT)
            draining.join()


def _have_batches(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/streaming-queries", timeout=60) as answer:
        found = [query["progress"] for query in json.load(answer)]
    return all(one is not None and len(one["batches"]) >= BATCHES for one in found)


def take(
    url: str,
    folder: Path,
    pictures: Mapping[str, str],
    executable: str,
    width: int,
    into: Path,
    scheme: Literal["light", "dark"],
) -> None:
    """One picture for each page."""
    with sync_playwright() as playwright:
        # Containers have no sandbox; the pages are our own.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": LEAST}, color_scheme=scheme)
        camera = page.context.new_cdp_session(page)
        for name, path in pictures.items():
            page.set_viewport_size({"width": width, "height": LEAST})
            page.goto(url + path, wait_until="load")
            page.wait_for_timeout(2_500)  # a second look, with rates
            page.evaluate(PLAIN_FOLDER, str(folder))
            height = min(MOST, page.evaluate("document.documentElement.scrollHeight"))
            page.set_viewport_size({"width": width, "height": height})
            # WebP takes half as much as the PNG that Playwright would write.
            taken = camera.send("Page.captureScreenshot", {"format": "webp", "quality": 80})
            (into / f"{name}.webp").write_bytes(base64.b64decode(taken["data"]))
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", default="/usr/bin/chromium", help="Chromium's executable")
    parser.add_argument("--width", type=int, default=1000)
    parser.add_argument("--into", type=Path, default=INTO)
    parser.add_argument("--dark", action="store_true")
    given = parser.parse_args()
    scheme: Literal["light", "dark"] = "dark" if given.dark else "light"
    with demo() as (url, folder):
        take(url, folder, PICTURES_OF_DEMO, given.browser, given.width, given.into, scheme)
    with run() as (url, folder):
        take(url, folder, PICTURES_OF_RUN, given.browser, given.width, given.into, scheme)
    with group() as (worker, folder):
        take(worker.url, folder, PICTURES, given.browser, given.width, given.into, scheme)


if __name__ == "__main__":
    main()
