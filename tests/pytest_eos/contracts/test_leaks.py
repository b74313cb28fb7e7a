"""What a task leaves behind after its stop fails the contract, by name."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from fnmatch import filter as matching

import pytest
from tests.pytest_eos import leaking
from tests.pytest_eos.contracts.contract_tests import write_contract_test

from eosfw.concurrency import ThreadRuntime
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
NAMED = [
    "thread 'prefetch' (daemon) in prefetch (pytest_eos/leaking.py:*)",
    "*leaking.py (descriptor *)",
    "*a connection 127.0.0.1:* to 127.0.0.1:* (descriptor *)",
    "temporary file state-*",
    "process *: * -c input()*",
]


@pytest.fixture(autouse=True)
def _nothing_stays():
    """What the broken ones leave behind ends with their test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        leaking.OVER.set()
        for thread in threading.enumerate():
            if thread.name == leaking.PREFETCH:  # while it runs it holds its task, with all that it left
                thread.join()
        gc.collect()
        leaking.OVER.clear()


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def contract(pytester, connector):
    write_contract_test(pytester, "SourceConnectorContract", source=f"leaking.{connector}", streams=1, until=4)
    return pytester.runpytest_inprocess("-pno:cacheprovider", "-Wignore", "-k", "leaves_nothing_behind")


def test_leaks_of_a_stopped_task_are_named(pytester):
    """A worker starts tasks again and again; so it runs out of descriptors, or reads with tasks long stopped."""
    result = contract(pytester, "Everything")

    assert result.parseoutcomes()["failed"] == 1
    start = "a stopped task left behind: "
    (line,) = (line for line in result.outlines if line.startswith(start))
    assert [kind for kind in NAMED if not matching(line.removeprefix(start).split("; "), kind)] == []


def test_what_ends_only_with_the_source_is_named(pytester):
    """A worker stops most tasks long before their sources end."""
    result = contract(pytester, "ReadsOn")

    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["a stopped task left behind: thread 'prefetch' (daemon) in prefetch *"])


def test_resources_shared_by_all_tasks_are_no_leak(pytester):
    """A pool that the first task makes stays for the others."""
    result = contract(pytester, "Caching")

    assert result.parseoutcomes()["passed"] == 1


def test_fenced_tasks_of_confluent_leave_no_descriptor(pytester):
    """An error's frames hold the client that raised it, and librdkafka's handle lives as long as anybody holds it."""
    pytester.makepyfile(
        """
        import pytest
        from tests.pytest_eos.counter import CounterConnector

        @pytest.mark.eos_zombie(at=["poll", "begin", "send", "commit"])
        def test_it(eos):
            eos.run(CounterConnector)
        """
    )
    arguments = ("-pno:cacheprovider", "--eos-backend=confluent")
    pytester.runpytest_inprocess(*arguments, "-k", "poll")
    before = descriptors()

    result = pytester.runpytest_inprocess(*arguments)

    result.stdout.fnmatch_lines(["zombies: 4 raised, 4 fenced, *"])
    # librdkafka's threads close theirs a little later, on a busy machine.
    runtime = ThreadRuntime()
    deadline = runtime.now() + 30
    while descriptors() > before and runtime.now() < deadline:
        runtime.sleep(0.1)
    assert descriptors() <= before


def test_the_eos_fixture_is_collected_after_its_test(pytester):
    """Pytest keeps every test until the end of the session."""
    pytester.makepyfile(
        """
        import gc, weakref
        from tests.pytest_eos.counter import CounterConnector

        kept = []

        def test_it(eos):
            eos.run(CounterConnector)
            kept.append(weakref.ref(eos))

        def test_that_it_is_gone():
            gc.collect()
            assert kept[0]() is None
        """
    )

    pytester.runpytest_inprocess("-pno:cacheprovider").assert_outcomes(passed=2)
