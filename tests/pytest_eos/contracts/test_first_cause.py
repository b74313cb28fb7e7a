"""One bug fails many tests of a contract: the summary names its cause once."""

from __future__ import annotations

import pytest

from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
QUIET = ("-p", "no:cacheprovider", "--tb=no")
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
TEST = """\
import pytest
from tests.pytest_eos import broken, broken_promises as bad, stalling
from tests.pytest_eos.counter import CounterConnector, CounterTask
from pytest_eos.contracts import Source, SourceConnectorContract

class BrokenTask(CounterTask):
    def poll(self):
        return self.nothing.records

class Broken(CounterConnector):
    name, task = "broken", BrokenTask

class TestIt(SourceConnectorContract):
    @pytest.fixture
    def source(self):
        return {source}

def test_elsewhere():
    assert 1 == 2
"""


def test_a_bug_in_every_contract_test_is_reported_once(pytester):
    """Tests without a worker and with one, whose failures wrap the same error; tests of others are not counted."""
    pytester.makepyfile(TEST.format(source="Source(Broken, {'until': 4})"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "same_source or run_ or elsewhere or request-fencing")

    failed = result.parseoutcomes()["failed"] - 1
    assert failed > 4
    result.stdout.fnmatch_lines(
        [
            f"first cause of {failed} failures: AttributeError: 'BrokenTask' object has no attribute 'nothing'",
            "  in test_*.py::TestIt::test_the_same_source_gives_the_same_records",
            f"  the same cause in {failed - 1} more, other causes in 0",
        ]
    )


def test_a_server_that_fails_is_one_cause(pytester):
    """Failures of different waits, tasks and repetitions with one cause are counted together."""
    pytester.makepyfile(TEST.format(source="Source(stalling.Failing, {'until': 8})"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "same_source or run_ or request-fencing", "--eos-patience=10")

    failed = result.parseoutcomes()["failed"]
    assert failed > 4
    result.stdout.fnmatch_lines(
        [f"first cause of {failed} failures: polls of task contract-0 fail: *last 503 Service *"]
    )
    result.stdout.fnmatch_lines([f"  the same cause in {failed - 1} more, other causes in 0"])


def test_other_causes_are_counted_by_kind(pytester):
    """Numbers and names that differ from test to test make no cause of their own."""
    pytester.makepyfile(TEST.format(source="Source(bad.Behind, {'until': 12})"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "resumes or (killed and (poll or commit))", "--eos-seed=7")

    result.stdout.fnmatch_lines(
        [
            "first cause of * failures: resumed behind {'next': 0} of *",
            "  the same cause in 0 more, other causes in *",
            "    2 of them: topic eos-*-counter is not exactly once: *",
        ]
    )


def test_a_single_failure_gets_no_first_cause_summary(pytester):
    """Nothing to sum up."""
    pytester.makepyfile(TEST.format(source="Source(bad.Undeclared, {'until': 4})"))

    result = pytester.runpytest_inprocess(*QUIET, "-k", "it_says or elsewhere")

    result.assert_outcomes(failed=2, deselected=result.parseoutcomes()["deselected"])
    result.stdout.no_fnmatch_line("first cause*")


@pytest.mark.parametrize("spread", [(), ("-n2",)])
def test_a_contract_without_its_fixture_is_reported_once(pytester, spread):
    """The first error of an author, for each test of the contract; pytest-xdist sends reports from elsewhere."""
    pytester.makepyfile("from pytest_eos import contracts\nclass TestMine(contracts.SourceConnectorContract): pass")

    run = pytester.runpytest_subprocess if spread else pytester.runpytest_inprocess
    result = run(*QUIET, "-k", "same_source or says", *spread)

    message = "first cause of 2 failures: *TestMine: define a fixture `source` that returns a Source"
    result.stdout.fnmatch_lines([message, "  in *", "  the same cause in 1 more, other causes in 0"])
