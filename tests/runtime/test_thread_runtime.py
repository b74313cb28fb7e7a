"""Threads of the operating system, of which a worker may have thousands."""

from __future__ import annotations

import sys
import threading

import pytest

from eosfw.concurrency import ThreadRuntime


@pytest.fixture
def interval():
    before = sys.getswitchinterval()
    yield before
    sys.setswitchinterval(before)


def test_threads_ask_for_the_interpreter_less_often_the_more_there_are(interval):
    """Each that waits for it wakes at each switch interval: hundreds of them would leave no time for anything else."""
    runtime, end = ThreadRuntime(), threading.Event()
    threads = [runtime.spawn(f"idle-{number}", end.wait) for number in range(400)]
    many = sys.getswitchinterval()
    end.set()
    for thread in threads:
        thread.join(30)
    runtime.spawn("last", end.wait).join(30)

    assert many >= 4 * interval
    assert sys.getswitchinterval() < many / 2
