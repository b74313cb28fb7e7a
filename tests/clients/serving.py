"""Serve an embedded broker as a process that can be killed, then restarted on its data directory."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import Self

from ports import free_port

from .java import Program

READY_WITHIN = 30.0
PROPERTIES = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
}


class ServedBroker:
    """`eosfw broker --data-dir`, at one address for as long as the test takes."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._starts = 0
        self.address = f"127.0.0.1:{free_port()}"
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._program.kill()

    @property
    def data(self) -> Path:
        return self._folder / "data"

    def bounce(self, *, clean: bool) -> None:
        """End the process, in order or at once; return when another one serves the same directory."""
        if clean:
            status = self._program.end()
            assert status == 0, f"the broker ended with {status}:\n{self._program.output()}"
        else:
            self._program.kill()
        self._start()

    def output(self) -> str:
        return self._program.output()

    def _start(self) -> None:
        self._starts += 1
        properties = [word for pair in PROPERTIES.items() for word in ("--property", "=".join(pair))]
        command = shutil.which("eosfw", path=str(Path(sys.executable).parent))
        assert command is not None, "eosfw is not installed beside this Python"
        where = ("--listen", self.address, "--data-dir", str(self.data))
        self._program = Program([command, "broker", *where, *properties], self._folder / f"broker-{self._starts}.log")
        deadline = time.monotonic() + READY_WITHIN
        while "listening on" not in self._program.output():
            assert self._program.running(), self._program.output()
            assert time.monotonic() < deadline, f"no answer in {READY_WITHIN:g} s: {self._program.output()}"
            time.sleep(0.02)
