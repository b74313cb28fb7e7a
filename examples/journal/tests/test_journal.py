"""Readers see the database's transactions, each of them once and whole."""

import sqlite3
from contextlib import closing

import pytest
from books import BOOKED, OPEN
from eosfw.errors import ConfigError
from pytest_eos import EosHarness

from eosfw_journal import JournalConnector

CONNECTOR = {"transaction.boundary": "connector"}


def test_each_transaction_of_the_database_becomes_one_of_kafka(eos: EosHarness, properties: dict[str, object]) -> None:
    run = eos.run(JournalConnector, properties | CONNECTOR)

    seen = [[record.value for record in records] for records in run.transactions()]
    assert [records for records in seen if records] == [[change.encode() for change in some] for some in BOOKED]


@pytest.mark.eos_zombie(at="all")
def test_a_zombie_repeats_nothing_and_shows_nothing_rolled_back(eos: EosHarness, properties: dict[str, object]) -> None:
    run = eos.run(JournalConnector, properties | CONNECTOR)

    eos.assert_exactly_once(run, expected=[change for some in BOOKED for change in some])


def test_an_open_transaction_is_read_when_it_ends(eos: EosHarness, properties: dict[str, object]) -> None:
    eos.run(JournalConnector, properties | CONNECTOR)
    with closing(sqlite3.connect(str(properties["database"]))) as database:
        database.execute("INSERT INTO journal (what) VALUES ('commit')")
        database.commit()

    run = eos.run(JournalConnector, properties | CONNECTOR)

    eos.assert_exactly_once(run, expected=[OPEN])


def test_other_boundaries_are_refused(eos: EosHarness, properties: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match='must be "connector"'):
        eos.run(JournalConnector, properties)
