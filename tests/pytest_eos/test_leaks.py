"""What a task leaves behind after its stop fails the contract, by name."""

from __future__ import annotations

import gc
import warnings

import pytest
from tests.pytest_eos import leaking

from pytest_eos.installed import installed

pytest_plugins = ("pytester",)
installed()  # loaded here, so that tests inside tests need not load it again and again
TEST = """\
import pytest
from tests.pytest_eos import leaking
from pytest_eos.contracts import Source, SourceConnectorContract

class TestIt(SourceConnectorContract):
    @pytest.fixture
    def source(self):
        return Source(leaking.{connector}, {{"until": 4}})
"""
NAMED = {
    "Thread": "thread 'prefetch' (daemon) in prefetch (pytest_eos/leaking.py:*)",
    "File": "*leaking.py (descriptor *)",
    "Connection": "*a connection 127.0.0.1:* to 127.0.0.1:* (descriptor *)",
    "Temporary": "temporary file state-*",
    "Process": "*process *: * -c input()*",
}


@pytest.fixture(autouse=True)
def _nothing_stays():
    """What the broken ones leave behind ends with their test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
        leaking.OVER.set()
        gc.collect()
        leaking.OVER.clear()


def contract(pytester, connector):
    pytester.makepyfile(TEST.format(connector=connector))
    return pytester.runpytest_inprocess("-pno:cacheprovider", "-Wignore", "-k", "leaves_nothing_behind")


@pytest.mark.parametrize("connector", NAMED)
def test_what_a_stopped_task_leaves_behind_is_named(pytester, connector):
    """A worker starts tasks again and again; so it runs out of descriptors, or reads with tasks long stopped."""
    result = contract(pytester, connector)

    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines([f"a stopped task left behind: {NAMED[connector]}"])


def test_what_all_tasks_share_is_nobodys_leak(pytester):
    """A pool that the first task makes stays for the others."""
    result = contract(pytester, "Caching")

    assert result.parseoutcomes()["passed"] == 1
