"""Whole workers in virtual time share the thread of their test, and leave nothing behind."""

from __future__ import annotations

import os
import threading

import pytest
from tests.pytest_eos.counter import CounterConnector, CounterTask
from tests.pytest_eos.virtual.virtual_harness import SMALL, eos_harness

from eosfw.errors import ConfigError


def sockets():
    """Open sockets of this process."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:  # the one that lists them
            continue
    return sorted(link for link in links if link.startswith("socket:"))


def test_no_thread_and_no_socket_is_opened_or_left(tmp_path):
    """Goal: everything on one thread, without a port. What earlier tests left may end meanwhile."""
    threads, before = set(threading.enumerate()), set(sockets())
    seen = []

    class Spying(CounterTask):
        def poll(self):
            seen.append((set(threading.enumerate()) - threads, set(sockets()) - before))
            return super().poll()

    class Spy(CounterConnector):
        name, task = "spy", Spying

    with eos_harness(1, tmp_path) as eos:
        eos.run(Spy, SMALL)

    assert seen
    assert all(added == (set(), set()) for added in seen)
    assert (set(threading.enumerate()) - threads, set(sockets()) - before) == (set(), set())


def test_processes_for_tasks_are_refused_in_a_test_and_left_out_of_a_pipeline_that_is_tested(tmp_path):
    """A test freezes tasks in its own process."""
    connector = {"connector.class": CounterConnector, "topic": "counted", **SMALL}
    with eos_harness(1, tmp_path) as eos:
        with pytest.raises(ConfigError, match="is for `eosfw run`: in a test, tasks share the process of the test"):
            eos.worker(task_isolation="process")
        run = eos.run_pipeline({"worker": {"task.isolation": "process"}, "connectors": {"c": connector}})
        eos.assert_exactly_once(eos.topic("counted"), run.connector().source_records(), key="headers")


@pytest.mark.filterwarnings("error")
def test_a_leftover_of_a_test_is_stopped_and_reported(tmp_path):
    """A greenlet that is not ended would keep its resources."""
    with (
        pytest.warns(pytest.PytestWarning, match="ended with the virtual clock: forgotten"),
        eos_harness(1, tmp_path) as eos,
    ):
        eos.runtime.spawn("forgotten", eos.runtime.event().wait)


def test_an_interrupt_that_hits_a_task_reaches_the_user(eos):
    """Everybody is on the main thread, so Ctrl-C may land in a connector."""

    class Interrupted(CounterTask):
        def poll(self):
            raise KeyboardInterrupt

    class Connector(CounterConnector):
        name, task = "interrupted", Interrupted

    with pytest.raises(KeyboardInterrupt):
        eos.run(Connector)
