"""The fixture `faults`: every fault is triggered, or the test fails."""

from __future__ import annotations

import pytest

from eosfw_memory.server.protocol.handlers import handler_of
from eosfw_memory.server.protocol.routes import ROUTES

pytest_plugins = ("pytester",)
for key in ROUTES:  # loaded here: of a handler that tests inside tests load there must not be two
    handler_of(key)

TEST = """
ORDERS = [f"order {number}" for number in range(30)]

def test_it(eos, faults, tmp_path):
    (tmp_path / "orders.txt").write_text("\\n".join(ORDERS) + "\\n")
    BODY
    run = eos.run("file", {"file": tmp_path / "orders.txt", "batch.size": 10})
    eos.assert_exactly_once(run, expected=ORDERS)
"""
SLOW = """
ORDERS = [f"order {number}" for number in range(30)]

def test_it(eos, faults, tmp_path):
    (tmp_path / "orders.txt").write_text("\\n".join(ORDERS) + "\\n")
    faults.add("delay", request="KIND", nth=NTH, seconds=61.0)
    run = eos.create_run("file", {"file": tmp_path / "orders.txt", "batch.size": 10})
    run.group.put(run.name, run.properties)
    run.group.until(lambda: run.group.history.records >= len(ORDERS), "30 committed records")
    run.group.stop()
    eos.assert_exactly_once(run, expected=ORDERS)
"""
POINTS = ["before-prepare", "after-prepare", "before-marker", "after-marker", "before-complete", "after-complete"]


def outcome(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(TEST.replace("BODY", body))
    return pytester.runpytest("-q", "-p", "no:cacheprovider", *options)


def who_asks(kind: str) -> str:
    """A worker that makes such requests: with one of its own a partition is added in version 1 alone (KIP-890)."""
    return "eos.worker(producer_eosfw_transaction_version=1)" if kind == "AddPartitionsToTxn" else "eos.worker()"


OF_A_TASK = {"InitProducerId": 2, "Fetch": 2, "AddPartitionsToTxn": 6, "Produce": 7, "EndTxn": 5}
"""Before those come the leader's."""


@pytest.mark.parametrize("kind", OF_A_TASK)
def test_a_lost_answer_of_any_request_neither_duplicates_nor_loses(pytester, kind):
    """The broker did what was asked, so a task that only repeats its request may do it twice."""
    done = outcome(pytester, f"{who_asks(kind)}; faults.add('lose', request='{kind}', nth={OF_A_TASK[kind]})")

    done.assert_outcomes(passed=1)


def test_faults_strike_under_a_real_clock_too(pytester):
    """A backend of another process cannot run under virtual time, and needs faults as well."""
    done = outcome(pytester, "faults.add('lose', request='EndTxn', nth=5)", "--eos-clock=real")

    done.assert_outcomes(passed=1)


@pytest.mark.parametrize(("kind", "nth"), [("Produce", 7), ("EndTxn", 5), ("AddPartitionsToTxn", 6)])
def test_an_answer_delayed_by_a_minute_neither_duplicates_nor_loses(pytester, kind, nth):
    """In virtual time: what is late takes effect after its sender gave up."""
    slow = SLOW.replace("KIND", kind).replace("NTH", str(nth))
    pytester.makepyfile(slow.replace("faults.add(", f"{who_asks(kind)}; faults.add(", 1))
    done = pytester.runpytest("-q", "-p", "no:cacheprovider")

    done.assert_outcomes(passed=1)


def test_faults_need_a_broker_started_by_the_test(pytester):
    """A test that passed without its fault would prove nothing."""
    done = outcome(pytester, "faults.add('lose', request='EndTxn')", "--eos-bootstrap-servers=127.0.0.1:1")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*faults need an embedded broker that the test itself serves*"])


@pytest.mark.parametrize("point", POINTS)
def test_a_broker_restart_within_a_commit_neither_duplicates_nor_loses(pytester, point):
    """The coordinator comes back from its log and must finish with the same verdict."""
    done = outcome(pytester, f"faults.add('restart', at='{point}', nth=6)")

    done.assert_outcomes(passed=1)


def test_a_fault_that_never_struck_fails_the_test(pytester):
    """A fault that was asked for must happen."""
    done = outcome(pytester, "faults.add('lose', request='EndTxn', nth=1000)")

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*fault lose EndTxn, 1000th: never fired: only * of the 1000 it waits for came by*"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("faults.add('loose', request='EndTxn')", "there is no fault 'loose'; did you mean 'lose'"),
        ("faults.add('restart', at='after-markr')", "did you mean 'after-marker'"),
    ],
)
def test_a_fault_that_does_not_exist_is_refused_with_the_nearest_name(pytester, body, message):
    """A misspelt fault would never strike."""
    done = outcome(pytester, body)

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"*{message}*"])
