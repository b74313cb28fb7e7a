"""Measure `GET /connectors` of a worker under many clients, and what an idle worker costs.

A worker (`eosfw worker`, confluent-kafka, REST interface) with three connectors on an embedded broker, each a process
of its own. The clients keep their connections; they ask at a steady rate, and then as fast as they are answered,
without a pause. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show

GOALS = {"p99_ms": 20, "idle_mb": 80, "idle_percent_of_a_core": 2}
REQUEST = b"GET /connectors HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
EOSFW = Path(sys.executable).with_name("eosfw")
CONNECTORS = 3


@contextmanager
def process(*arguments: str, shows: str) -> Iterator[tuple[int, str]]:
    """Run a command of eosfw; its process id, and what it shows first of what is looked for."""
    started = subprocess.Popen([EOSFW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = ""
        for line in started.stdout or ():
            said += line
            if found := re.search(shows, line):
                yield started.pid, found[1]
                return
        raise ContenderError(f"eosfw {arguments[0]} ended: {said}")
    finally:
        started.terminate()
        started.wait(30)


def create(url: str, folder: Path) -> None:
    for number in range(CONNECTORS):
        path = folder / f"lines-{number}.txt"
        path.write_text("one\n")
        config = {"connector.class": "file", "file": str(path), "topic": f"lines-{number}"}
        body = json.dumps({"name": f"lines-{number}", "config": config}).encode()
        asked = urllib.request.Request(f"{url}/connectors", body, {"Content-Type": "application/json"})
        urllib.request.urlopen(asked, timeout=60).close()
    deadline = time.monotonic() + 60
    while read(f"{url}/connectors?expand=status").count(b'"RUNNING"') < 2 * CONNECTORS:
        if time.monotonic() > deadline:
            raise ContenderError("the connectors did not start within 60 s")
        time.sleep(0.1)


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return answer.read()


async def client(address: tuple[str, int], requests: int, pause: float, first: float, taken: list[float]) -> None:
    """Ask again and again; with a pause, at a steady rate however long an answer takes."""
    reader, writer = await asyncio.open_connection(*address)
    due = time.perf_counter() + first
    for _ in range(requests):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        began = time.perf_counter()
        writer.write(REQUEST)
        head = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", head.lower())[1]))
        taken.append(time.perf_counter() - began)
        due += pause
    writer.close()


async def load(pid: int, address: tuple[str, int], clients: int, requests: int, pause: float) -> dict[str, float]:
    taken: list[float] = []
    began, used = time.perf_counter(), cpu(pid)
    await asyncio.gather(*(client(address, requests, pause, pause * one / clients, taken) for one in range(clients)))
    seconds = time.perf_counter() - began
    taken.sort()
    at = {name: round(taken[int(len(taken) * share)] * 1000, 1) for name, share in (("p50_ms", 0.5), ("p99_ms", 0.99))}
    each = round((cpu(pid) - used) / len(taken) * 1e6)
    return {
        "processor_us_per_request": each,
        **at,
        "worst_ms": round(taken[-1] * 1000, 1),
        "requests_per_s": round(len(taken) / seconds),
    }


def idle(pid: int, seconds: float) -> dict[str, float]:
    """Memory and processor time of a process that nobody asks anything."""
    time.sleep(min(seconds, 2))
    before = cpu(pid)
    time.sleep(seconds)
    share = (cpu(pid) - before) / seconds * 100
    (rss,) = re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return {"idle_mb": round(int(rss) * 1024 / 1e6, 1), "idle_percent_of_a_core": round(share, 2)}


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=scaled(50, 2))
    parser.add_argument("--requests", type=int, default=scaled(400, 3), help="of each client")
    parser.add_argument("--rate", type=float, default=10.0, help="requests a second of each client")
    parser.add_argument("--idle-seconds", type=float, default=scaled(30))
    parser.add_argument("--backend", default="confluent")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        process("broker", "--listen", "127.0.0.1:0", shows="listening on (.*)") as (_, servers),
    ):
        file = Path(folder) / "worker.properties"
        file.write_text(
            f"bootstrap.servers={servers}\ngroup.id=rest\nlisteners=http://127.0.0.1:0\nbackend={given.backend}\n"
            "exactly.once.source.support=enabled\noffset.storage.partitions=1\nstatus.storage.partitions=1\n"
        )
        with process("worker", str(file), shows="REST interface at (.*)") as (pid, url):
            read(f"{url}/health")
            costs = {"idle": idle(pid, given.idle_seconds)}
            create(url, Path(folder))
            costs["idle_with_connectors"] = idle(pid, given.idle_seconds)
            host, _, port = url.removeprefix("http://").partition(":")
            address = (host, int(port))
            steady = asyncio.run(load(pid, address, given.clients, given.requests, 1 / given.rate))
            flat_out = asyncio.run(load(pid, address, given.clients, given.requests, 0.0))
            costs["after_load"] = idle(pid, given.idle_seconds)
    show({"clients": given.clients, "steady": steady, "as_fast_as_answered": flat_out, **costs, "goals": GOALS})


if __name__ == "__main__":
    run_main(main)
