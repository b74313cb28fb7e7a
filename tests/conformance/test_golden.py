"""The embedded broker answers what Apache Kafka answered, cell by cell."""

from __future__ import annotations

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.direct import DirectNetwork
from eosfw_memory.cluster import EmbeddedCluster
from real_kafka import KAFKA_VERSION, SETTINGS

from .calls import Caller
from .cell_answers import answers, nested
from .cells import Cell, cells
from .golden import load, load_others
from .record import TABLES
from .slow_states import ByHand, ByWaiting
from .states import LAST

EXCEPTIONS: dict[str, str] = {}
"""Cells in which the embedded broker differs on purpose, each with its reason; none is what we want."""
SAMPLES = [47, pytest.param(1, marks=pytest.mark.nightly)]
"""Every how many cells one is asked of a real Kafka again; all of them each night."""
SWEEP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


def recorded(version: int) -> dict[Cell, str]:
    """The answers in the file to every cell of a broker of this version of transactions."""
    table = load()["cells"]
    found = {}
    for cell in cells(version):
        broker = f"transaction.version {cell.version}, {cell.state}"
        found[cell] = table[broker][cell.request][cell.relation]
    return found


def differences(expected: dict[Cell, str], found: dict[Cell, str]) -> dict[str, tuple[str, str]]:
    """The differing cells with Kafka's and the current answer."""
    return {cell.key: (expected[cell], answer) for cell, answer in found.items() if answer != expected[cell]}


@pytest.fixture(params=[2, 1], ids=["transaction.version 2", "transaction.version 1"])
def version(request):
    return request.param


@pytest.fixture
def asked(version):
    """The embedded broker's answers to every cell, by direct calls; to some of them over a socket, too.

    How an answer is written in each version is in tests/broker/protocol/test_every_version.py.
    """
    properties = {**{name: SETTINGS[name] for name in SETTINGS if name == SWEEP}, "transaction.version": str(version)}
    cluster = EmbeddedCluster.start(properties, ThreadRuntime())
    direct = DirectNetwork("in process", lambda: cluster.broker, ThreadRuntime())
    callers = {"direct": Caller("in process", direct), "socket": Caller(cluster.bootstrap_servers)}
    every = list(cells(version))
    wanted = {"direct": every, "socket": every[:: SAMPLES[0]]}
    yield {how: dict(answers(caller, wanted[how], ByHand(cluster.broker))) for how, caller in callers.items()}
    for caller in callers.values():
        caller.close()
    cluster.close()


def test_every_answer_equals_the_recorded_answer_of_kafka(version, asked):
    """COR-03..06, COR-08, COR-18, COR-19: at least 250 cells, all of them equal but for named exceptions."""
    found = differences(recorded(version), asked["direct"])

    assert len(asked["direct"]) >= 250
    assert differences(recorded(version), asked["socket"]) == {}
    assert {key: message for key, message in found.items() if key not in EXCEPTIONS} == {}
    assert [key for key in EXCEPTIONS if key.startswith(f"{version} ") and key not in found] == []


def test_the_table_holds_every_cell_and_no_other():
    every = {cell: "" for version in (1, 2) for cell in cells(version)}
    kept = load()

    assert nested(every).keys() == kept["cells"].keys()
    assert (kept["count"], kept["kafka"]) == (len(every), KAFKA_VERSION)


@pytest.mark.parametrize("name", TABLES)
def test_answers_to_unusual_arguments_and_member_ids_equal_kafkas(embedded, name):
    """COR-02, COR-06, COR-18, GRP-02: each question by itself, so that a failure names it."""
    caller = Caller(embedded)
    found = dict(TABLES[name](caller))
    caller.close()

    kept = load_others()
    assert {
        each: (kept[name].get(each), message) for each, message in found.items() if kept[name].get(each) != message
    } == {}
    assert (kept[name].keys(), kept["kafka"]) == (found.keys(), KAFKA_VERSION)


@pytest.mark.kafka
@pytest.mark.parametrize("every", SAMPLES)
def test_a_real_kafka_still_gives_the_recorded_answers(undisturbed_kafka, every):
    """Cells of version 2, which is the version of a fresh Kafka."""
    wanted = [cell for cell in cells(2) if cell.state not in LAST][::every]
    caller = Caller(undisturbed_kafka)
    found = dict(answers(caller, wanted, ByWaiting(undisturbed_kafka, ThreadRuntime())))
    caller.close()

    assert differences(recorded(2), found) == {}
