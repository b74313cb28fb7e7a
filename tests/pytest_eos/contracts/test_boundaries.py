"""A connector that ends its transactions itself is tested as any other, and where it ends them can be asked."""

from __future__ import annotations

import pytest
from tests.pytest_eos.bounded import Groups, committed, ends

from eosfw.pipeline.verdicts.verdict import judge
from pytest_eos.contracts import Source, TransactionBoundariesContract
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins().imported()  # here, so that tests inside tests need not import them again and again
TEST = """\
import pytest
from tests.pytest_eos import bounded
from pytest_eos import contracts

class TestIt(contracts.{contract}):
    @pytest.fixture
    def source(self):
        return contracts.Source(bounded.{connector}{more})
"""
OWN = "TransactionBoundariesContract"
BROKEN = {
    "EveryPoll": (
        "transactions_end_where_the_source",
        "a transaction goes on where it should end, behind source partition *, source offset {'next': 3}",
    ),
    "Early": (
        "transactions_end_where_the_source",
        "a transaction ends where none should, behind source partition *, source offset {'next': 2}",
    ),
    "Forgetful": (
        "transactions_end_where_the_source",
        "source offset {'next': 5}, resumed behind [[]{'next': 3}[]]",
    ),
    "Copying": ("transactions_end_where_the_source", "task contract-0: the task asked to commit *a copy of it"),
    "Elsewhere": ("transactions_end_where_the_source", "the task asked to commit *no poll returned it"),
}

BOUNDARY = {"transaction.boundary": "connector"}


def test_records_aborted_by_a_task_are_not_expected(eos):
    """BND-02, BND-03: the replay honours commits and aborts, as the topic does."""
    run = eos.run(Groups, BOUNDARY)

    eos.assert_exactly_once(run, run.source_records())
    assert [record.value for record in run.source_records()] == [value for some in committed(24) for value in some]


def test_a_verdict_on_a_run_knows_what_its_tasks_aborted(eos):
    """BND-03: so a run with ends of its own can be verified."""
    run = eos.run(Groups, BOUNDARY)

    verdict, unverified = judge(run.group.local, lambda _: run.ranges(), lambda *_: None)

    assert ((verdict.duplicates, verdict.missing), unverified) == ((0, 0), [])


@pytest.mark.parametrize("connector", BROKEN)
def test_the_contract_detects_transactions_that_end_in_wrong_places(pytester, connector):
    """A contract is worth what it refuses."""
    test, message = BROKEN[connector]
    pytester.makepyfile(TEST.format(contract=OWN, connector=connector, more=", transaction_ends=bounded.ends"))

    result = pytester.runpytest_inprocess("-pno:cacheprovider", "-k", test)

    result.assert_outcomes(failed=1, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines([f"E * {message}*"])


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        ("TransactionBoundariesContract", "connector 'groups': say behind which records its transactions must end, *"),
        (
            "SourceConnectorContract",
            "'groups' ends its transactions itself: have TestIt inherit TransactionBoundaries*",
        ),
    ],
)
def test_a_connector_with_ends_of_its_own_must_say_where_they_are(pytester, contract, message):
    """Without them a wrong transaction end could not be detected."""
    pytester.makepyfile(TEST.format(contract=contract, connector="Groups", more=""))

    result = pytester.runpytest_inprocess("-pno:cacheprovider", "-x", "-k", "transactions_end_where or same_source")

    result.stdout.fnmatch_lines([f"E*{message}"])


class TestGroups(TransactionBoundariesContract):
    """The sound one: it commits by threes, discards every fourth group, leaves open what is no whole group."""

    @pytest.fixture
    def source(self):
        return Source(Groups, {"until": 14}, transaction_ends=ends)
