"""Measure how topics are created by one Metadata request, in memory or in files, and how long other clients wait.

A broker of its own process is asked about names that do not exist; meanwhile another client asks for ApiVersions again
and again. `seconds` is until the answer is here, `longest_wait_s` that of the other client. With `--stop` a broker that
is asked about so many names at once gets SIGTERM in the midst of it: `stop_s` is until it has ended. One JSON object.
"""

from __future__ import annotations

import argparse
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmark import run_main, scaled, show
from contenders import Contender, started

from eosfw_memory.client.transport.apis import API_VERSIONS, METADATA, Api, Fields
from eosfw_memory.client.transport.messages import format_of

_LENGTH = struct.Struct(">i")
_BEFORE_STOP, _STOP_SECONDS = 0.5, 120.0


class Client:
    """One connection, one request at a time."""

    def __init__(self, address: str) -> None:
        host, _, port = address.partition(":")
        self._socket = socket.create_connection((host, int(port)))

    def send(self, api: Api, request: Fields) -> None:
        self._socket.sendall(format_of(api.key, api.max_version).frame(1, "benchmark", request))

    def ask(self, api: Api, request: Fields) -> Any:
        self.send(api, request)
        (size,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        return format_of(api.key, api.max_version).answer(self._exactly(size))[1]

    def close(self) -> None:
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            some = self._socket.recv(size - len(data))
            if not some:
                raise ConnectionError("the broker closed the connection")
            data += some
        return bytes(data)


@contextmanager
def broker(directory: Path | None) -> Iterator[tuple[Contender, str]]:
    given = [] if directory is None else [f"log.dirs={directory}"]
    with started("the embedded broker", sys.executable, "-m", "eosfw_memory", *given) as contender:
        yield contender, contender.address()


def about(names: int) -> Fields:
    topics = [Fields(name=f"topic-{number}", topic_id=None) for number in range(names)]
    return Fields(topics=topics, allow_auto_topic_creation=True, include_topic_authorized_operations=False)


def other_client(address: str, done: threading.Event, waits: list[float]) -> None:
    client = Client(address)
    while not done.is_set():
        at = time.perf_counter()
        client.ask(API_VERSIONS, Fields())
        waits.append(time.perf_counter() - at)
        time.sleep(0.001)
    client.close()


def created(names: int, directory: Path | None) -> dict[str, float]:
    with broker(directory) as (_, address):
        client, done, waits = Client(address), threading.Event(), [0.0]
        client.ask(API_VERSIONS, Fields())
        other = threading.Thread(target=other_client, args=(address, done, waits))
        other.start()
        began, there = time.perf_counter(), 0
        while there < names:  # beyond what one request may create a client asks again
            answer = client.ask(METADATA, about(names))
            there = sum(not each["error_code"] for each in answer["topics"])
        took = time.perf_counter() - began
        done.set()
        other.join()
        client.close()
    return {"seconds": round(took, 2), "longest_wait_s": round(max(waits), 3)}


def stopped(names: int, directory: Path | None) -> dict[str, float]:
    with broker(directory) as (contender, address):
        client = Client(address)
        client.send(METADATA, about(names))
        time.sleep(_BEFORE_STOP)
        began = time.perf_counter()
        contender.process.send_signal(signal.SIGTERM)
        contender.process.wait(_STOP_SECONDS)
        took = time.perf_counter() - began
        client.close()
    return {"stop_s": round(took, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, nargs="+", default=[scaled(1000), scaled(4000), scaled(16000)])
    parser.add_argument("--stop", type=int, nargs="*", default=[scaled(200_000)])
    parser.add_argument("--where", type=Path, default=None, help="where to make data directories")
    arguments = parser.parse_args()
    found: dict[str, object] = {}
    for names in arguments.names:
        with tempfile.TemporaryDirectory(dir=arguments.where) as root:
            found[str(names)] = {"memory": created(names, None), "data_dir": created(names, Path(root) / "data")}
    for names in arguments.stop:
        with tempfile.TemporaryDirectory(dir=arguments.where) as root:
            found[f"stop at {names}"] = {
                "memory": stopped(names, None),
                "data_dir": stopped(names, Path(root) / "data"),
            }
    show(found)


if __name__ == "__main__":
    run_main(main)
