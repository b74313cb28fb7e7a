"""Members of a group for one test: each on a thread of its own, or in a process that can be frozen."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Self

import pytest

from eosfw.concurrency import Queue, Runtime, ThreadRuntime
from eosfw.protocols import Backend, GroupAssignment, GroupConsumer
from pytest_eos.contracts.backends.harness import WAIT
from pytest_eos.environment.processes.os_processes import absolute_sys_path

_POLL = 0.5
_JOINED = "joined"
PATIENCE = 4 * WAIT
"""Seconds in which a member in another process joins its group, or answers, on any machine."""
_Call = Callable[[GroupConsumer], object]


class GroupMember:
    """A group consumer with the thread that owns it, which polls until it is closed or told to pause."""

    def __init__(self, runtime: Runtime, make: Callable[[], GroupConsumer], name: str) -> None:
        self.assignment = GroupAssignment()
        """What the last poll returned."""
        self.error: Exception | None = None
        """What the last poll raised."""
        self._make = make
        self._runtime = runtime
        self._calls: Queue[tuple[_Call, Queue[object]]] = runtime.queue()
        self._closing, self._paused = runtime.event(), False
        self._thread = runtime.spawn(f"member-{name}", self._run)

    def confirm(self) -> None:
        """Have its own thread confirm; raise what it raises."""
        self.call(lambda consumer: consumer.confirm(WAIT))

    def call(self, call: _Call) -> None:
        """Have its own thread make a call; raise what it raises."""
        answers: Queue[object] = self._runtime.queue()
        self._calls.put((call, answers))
        answer = answers.get(WAIT)
        if isinstance(answer, Exception):
            raise answer

    def pause(self) -> None:
        """Stop polling until `resume`; other calls are still made."""
        self._paused = True
        self.call(lambda _: None)  # the poll that was under way is over

    def resume(self) -> None:
        """Poll again."""
        self._paused = False

    def close(self) -> None:
        """Leave the group; closing twice does no harm."""
        self._closing.set()
        if not self._thread.join(WAIT):
            pytest.fail(f"{self._thread.name} does not end")

    def _run(self) -> None:
        consumer = self._make()
        while not self._closing.is_set():
            try:
                call, answers = self._calls.get(0.05 if self._paused else 0.0)
            except TimeoutError:
                if not self._paused:
                    self._poll(consumer)
            else:
                answers.put(_outcome(call, consumer))
        consumer.close(WAIT)

    def _poll(self, consumer: GroupConsumer) -> None:
        try:
            self.assignment = consumer.poll(_POLL)
            self.error = None
        except Exception as why:  # noqa: BLE001 - for the test to look at
            self.error = why
            self._closing.wait(0.05)


def _outcome(call: _Call, consumer: GroupConsumer) -> object:
    try:
        call(consumer)
    except Exception as why:  # noqa: BLE001 - raised again by who asked
        return why
    return None


class MemberProcess:
    """A member in a process of its own: confirmed as an owner before this is made, it does not poll from then on."""

    def __init__(self, backend: Backend, properties: Mapping[str, str], group: Mapping[str, Any]) -> None:
        kind = type(backend)
        job = [kind.__module__, kind.__qualname__, dict(properties), dict(group)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(absolute_sys_path())},
            text=True,
        )
        self._tell(json.dumps(job))
        if self._hear() != _JOINED:
            self.__exit__()  # else its pipes would be reported by a test that has nothing to do with them
            pytest.fail("the member's process did not join its group")

    def freeze(self) -> None:
        """Stop the process as it is."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let the process go on."""
        self._process.send_signal(signal.SIGCONT)

    def confirm(self) -> str:
        """The name of the class that `confirm` raises there, or an empty text."""
        self._tell("confirm")
        return self._hear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _hear(self) -> str:
        assert self._process.stdout is not None
        # It says one line at a time, so that nothing waits in the pipe's buffer, where `select` does not look.
        if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
            self.__exit__()
            pytest.fail(f"the member's process said nothing for {PATIENCE:g} s: it does not join, or a call blocks")
        return self._process.stdout.readline().strip()


def _main() -> None:
    module, name, properties, group = json.loads(sys.stdin.readline())
    backend: Backend = getattr(import_module(module), name).connect(properties, ThreadRuntime())
    consumer = backend.group_consumer(**group)
    # A busy machine may lose the member before it has asked; it polls until both are true of one membership.
    while not consumer.poll(_POLL).partitions or _outcome(lambda one: one.confirm(WAIT), consumer) is not None:
        pass
    print(_JOINED, flush=True)  # noqa: T201
    for _ in sys.stdin:  # it polls no more, so that nothing but `confirm` can find out that it slept
        error = _outcome(lambda one: one.confirm(WAIT), consumer)
        print("" if error is None else type(error).__name__, flush=True)  # noqa: T201


if __name__ == "__main__":
    _main()
