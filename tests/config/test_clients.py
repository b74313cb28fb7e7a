"""Layers of client properties: precedence, replaced and refused values (CFG-07, CFG-08)."""

from __future__ import annotations

import pytest

from eosfw import Config
from eosfw.config.clients import (
    commit_interval_ms,
    leader_producer,
    override_problems,
    task_producer,
)
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.override_policy import LOCAL_FILE_POLICY
from eosfw.config.worker import WORKER

TID = "g-c-0"


def worker(**properties: str) -> Config:
    return WORKER.parse({"group.id": "g", "exactly.once.source.support": "enabled", **LOCAL_FILE_POLICY} | properties)


def connector(**properties: str) -> Config:
    return SOURCE_CONNECTOR.parse({"name": "c", "connector.class": "file"} | properties)


@pytest.mark.parametrize(
    ("name", "text"), [("transactional.id", "mine"), ("enable.idempotence", "false"), ("enable.idempotence", "TRUE")]
)
def test_an_enforced_property_is_replaced_with_one_warning(name: str, text: str) -> None:
    """CFG-07, PRD-10: the comparison is case-sensitive, as Kafka's is."""
    settled = task_producer(
        worker(**{f"producer.{name}": "other"}), connector(**{f"producer.override.{name}": text}), TID
    )

    (warning,) = settled.warnings
    assert all(word in warning for word in (name, text, "connector c", "exactly-once needs it"))
    assert name not in settled.properties


@pytest.mark.parametrize(("name", "text"), [("transactional.id", TID), ("enable.idempotence", "true")])
def test_an_enforced_property_that_agrees_is_silent(name: str, text: str) -> None:
    """CFG-07."""
    assert task_producer(worker(), connector(**{f"producer.override.{name}": text}), TID).warnings == ()


def test_without_exactly_once_nothing_is_enforced_and_order_is_kept() -> None:
    """CFG-08."""
    off = worker(**{"exactly.once.source.support": "disabled"})
    settled = task_producer(off, connector(**{"producer.override.acks": "1"}), TID)

    assert settled.properties["acks"] == "1"
    assert settled.properties["max.in.flight.requests.per.connection"] == "1"
    assert settled.properties["enable.idempotence"] == "false"
    assert settled.warnings == ()


def test_the_leaders_transactional_id_cannot_be_chosen() -> None:
    """LDR-01."""
    settled = leader_producer(worker(**{"producer.transactional.id": "mine"}), "connect-cluster-g")

    assert "transactional.id=mine is replaced by connect-cluster-g" in settled.warnings[0]


@pytest.mark.parametrize(("support", "warned"), [("enabled", False), ("disabled", True)])
def test_no_warning_calls_acks_replaced_where_they_are_refused(support: str, *, warned: bool) -> None:
    """CFG-07: with exactly-once a worker with these properties does not start."""
    given = worker(**{"exactly.once.source.support": support, "producer.acks": "1"})
    settled = leader_producer(given, "connect-cluster-g")

    assert bool(settled.warnings) is warned
    assert bool(override_problems(given)) is not warned
    assert "acks" not in settled.properties


@pytest.mark.parametrize(
    ("properties", "broker_max", "seconds"),
    [
        ({}, None, 60.0),
        ({"transaction.boundary": "interval", "transaction.boundary.interval.ms": "50000"}, None, 100.0),
        ({"transaction.boundary": "interval"}, None, 120.0),
        ({"transaction.boundary": "interval"}, 90.0, 90.0),
        ({"producer.override.transaction.timeout.ms": "7000"}, 5.0, 7.0),
    ],
)
def test_a_transaction_gets_twice_its_interval(
    properties: dict[str, str], broker_max: float | None, seconds: float
) -> None:
    """PRD-10: a minute, unless the interval wants more or the broker allows less."""
    settled = task_producer(worker(), connector(**properties), TID, broker_max)

    assert settled.transaction_timeout == seconds
    assert settled.properties["delivery.timeout.ms"] == str(int(seconds * 1000))


def test_an_interval_falls_back_to_the_workers_flush_interval() -> None:
    """CFG-06."""
    by_interval = {"transaction.boundary": "interval"}

    assert commit_interval_ms(worker(), connector(**by_interval)) == 60_000
    assert commit_interval_ms(worker(), connector(**by_interval, **{"transaction.boundary.interval.ms": "0"})) == 0
    assert commit_interval_ms(worker(), connector()) == 0


def warning_text(on: Config, by: Config | None = None) -> str:
    return " ".join(str(problem) for problem in override_problems(on, by))


@pytest.mark.parametrize(
    ("name", "text", "refused"),
    [
        # A record that one replica has may be lost after its transaction was committed.
        *(("acks", text, True) for text in ("1", "0", "ALL")),
        *(("acks", text, False) for text in ("all", "-1")),
        ("retries", "0", True),
        ("retries", "3", False),
        # A broker remembers the last five batches of a producer, no more.
        *(("max.in.flight.requests.per.connection", text, True) for text in ("6", "0", "x")),
        ("max.in.flight.requests.per.connection", "5", False),
    ],
)
def test_what_weakens_exactly_once_is_an_error(name: str, text: str, *, refused: bool) -> None:
    """PRD-10: of the worker as of a connector, before any task is replaced."""
    by_connector = warning_text(worker(), connector(**{f"producer.override.{name}": text}))
    by_worker = warning_text(worker(**{f"producer.{name}": text}))

    assert (f"producer.override.{name}={text}" in by_connector, f"producer.{name}={text}" in by_worker) == (
        refused,
        refused,
    )


def test_a_timeout_not_above_its_interval_names_both_keys() -> None:
    """PRD-10: the coordinator would abort each transaction before its interval ends."""
    by = connector(
        **{
            "transaction.boundary": "interval",
            "transaction.boundary.interval.ms": "5000",
            "producer.override.transaction.timeout.ms": "5000",
        }
    )

    assert "producer.override.transaction.timeout.ms=5000" in warning_text(worker(), by)
    assert "transaction.boundary.interval.ms=5000" in warning_text(worker(), by)


@pytest.mark.parametrize("text", ["0", "-1", "2147483648", "10s", "NaN", "1e9"])
def test_an_impossible_transaction_timeout_names_the_range(text: str) -> None:
    """PRD-10."""
    problem = warning_text(worker(), connector(**{"producer.override.transaction.timeout.ms": text}))

    assert f"Invalid value {text}" in problem
    assert "between 1 and 2147483647" in problem
