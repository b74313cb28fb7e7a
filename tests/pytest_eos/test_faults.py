"""The fixture `faults`: every fault is triggered, or the test fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from eosfw_memory.server.protocol.handlers import handler_of
from eosfw_memory.server.protocol.routes import ROUTES
from pytest_eos import EosHarness
from pytest_eos.environment.clusters.faults import BrokerFaults

pytest_plugins = ("pytester",)
for key in ROUTES:  # loaded here: of a handler that tests inside tests load there must not be two
    handler_of(key)

ORDERS = [f"order {number}" for number in range(30)]
POINTS = ["before-prepare", "after-prepare", "before-marker", "after-marker", "before-complete", "after-complete"]
NTH = {"InitProducerId": 2, "Fetch": 2, "AddPartitionsToTxn": 6, "Produce": 7, "EndTxn": 5}
"""Which request of a kind is a task's; before those come the leader's."""


@pytest.fixture
def orders(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "orders.txt").write_text("\n".join(ORDERS) + "\n")
    return {"file": tmp_path / "orders.txt", "batch.size": 10}


def start_worker(eos: EosHarness, kind: str) -> None:
    """A worker that makes such requests: with one of its own a partition is added in version 1 alone (KIP-890)."""
    eos.worker(**({"producer_eosfw_transaction_version": 1} if kind == "AddPartitionsToTxn" else {}))


def assert_every_order_once(eos: EosHarness, orders: dict[str, object]) -> None:
    eos.assert_exactly_once(eos.run("file", orders), expected=ORDERS)


@pytest.mark.parametrize("kind", NTH)
def test_a_lost_answer_of_any_request_neither_duplicates_nor_loses(
    eos: EosHarness, faults: BrokerFaults, orders: dict[str, object], kind: str
) -> None:
    """The broker did what was asked, so a task that only repeats its request may do it twice."""
    start_worker(eos, kind)
    faults.add("lose", request=kind, nth=NTH[kind])

    assert_every_order_once(eos, orders)


@pytest.mark.eos_clock("real")
def test_faults_strike_under_a_real_clock_too(eos: EosHarness, faults: BrokerFaults, orders: dict[str, object]) -> None:
    """A backend of another process cannot run under virtual time, and needs faults as well."""
    faults.add("lose", request="EndTxn", nth=5)

    assert_every_order_once(eos, orders)


@pytest.mark.parametrize("kind", ["Produce", "EndTxn", "AddPartitionsToTxn"])
def test_an_answer_delayed_by_a_minute_neither_duplicates_nor_loses(
    eos: EosHarness, faults: BrokerFaults, orders: dict[str, object], kind: str
) -> None:
    """In virtual time: what is late takes effect after its sender gave up."""
    start_worker(eos, kind)
    faults.add("delay", request=kind, nth=NTH[kind], seconds=61.0)
    run = eos.create_run("file", orders)
    run.group.put(run.name, run.properties)
    run.group.until(lambda: run.group.history.records >= len(ORDERS), "30 committed records")
    run.group.stop()

    eos.assert_exactly_once(run, expected=ORDERS)


@pytest.mark.parametrize("point", POINTS)
def test_a_broker_restart_within_a_commit_neither_duplicates_nor_loses(
    eos: EosHarness, faults: BrokerFaults, orders: dict[str, object], point: str
) -> None:
    """The coordinator comes back from its log and must finish with the same verdict."""
    faults.add("restart", at=point, nth=6)

    assert_every_order_once(eos, orders)


@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        (
            "faults.add('lose', request='EndTxn', nth=1000); eos.run('file', {'file': __file__})",
            (),
            "fault lose EndTxn, 1000th: never fired: only * of the 1000 it waits for came by",
        ),
        (
            "faults.add('lose', request='EndTxn')",
            ("--eos-bootstrap-servers=127.0.0.1:1",),
            "faults need an embedded broker that the test itself serves",
        ),
        ("faults.add('loose', request='EndTxn')", (), "there is no fault 'loose'; did you mean 'lose'"),
        ("faults.add('restart', at='after-markr')", (), "did you mean 'after-marker'"),
    ],
    ids=["never strikes", "foreign broker", "misspelt kind", "misspelt point"],
)
def test_a_fault_that_cannot_or_did_not_strike_fails_its_test(
    pytester: pytest.Pytester, body: str, options: tuple[str, ...], message: str
) -> None:
    """A fault that was asked for must happen, or the test proves nothing."""
    pytester.makepyfile(f"def test_it(eos, faults):\n    {body}\n")

    done = pytester.runpytest("-q", "-p", "no:cacheprovider", *options)

    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines([f"*{message}*"])
