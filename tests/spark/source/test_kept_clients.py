"""Which clients a worker of Spark keeps between its tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from eosfw.config.parts import PartChoice
from eosfw_spark import clients
from eosfw_spark.clients import KEPT, close_kept_clients, kept_clients
from eosfw_spark.source.options import COMMITTED

SERVERS = {"bootstrap.servers": "h:1"}
Log = list[tuple[str, str]]


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """What is opened and closed, by the address of the cluster."""
    events: Log = []

    @contextmanager
    def open_backend(name: str, properties: Mapping[str, str]) -> Iterator[Any]:
        address = properties["bootstrap.servers"]
        events.append(("open", address))
        try:
            yield object()
        finally:
            events.append(("close", address))

    @contextmanager
    def open_isolation_reader(backend: Any, choice: PartChoice, *, headers: bool) -> Iterator[Any]:
        yield object()

    monkeypatch.setattr(clients, "open_backend", open_backend)
    monkeypatch.setattr(clients, "open_isolation_reader", open_isolation_reader)
    monkeypatch.setattr(clients, "_kept", {})
    return events


def use(address: str = "h:1", *, headers: bool = False) -> object:
    with kept_clients("confluent", {"bootstrap.servers": address}, COMMITTED, headers=headers) as reader:
        return reader


def test_the_next_task_with_the_same_options_uses_the_reader_of_the_last(log: Log) -> None:
    assert use() is use()
    assert log == [("open", "h:1")]
    assert len({use(), use("h:2"), use(headers=True)}) == 3
    close_kept_clients()

    assert sorted(log[-3:]) == [("close", "h:1"), ("close", "h:1"), ("close", "h:2")]


def test_a_read_that_failed_or_was_abandoned_closes_its_reader(log: Log) -> None:
    def reading() -> Iterator[object]:
        with kept_clients("confluent", SERVERS, COMMITTED, headers=False) as reader:
            yield reader
            yield reader

    begun = reading()
    next(begun)
    begun.close()  # type: ignore[attr-defined]
    with pytest.raises(ZeroDivisionError), kept_clients("confluent", SERVERS, COMMITTED, headers=False):
        1 / 0  # noqa: B018

    assert log == [("open", "h:1"), ("close", "h:1")] * 2


def test_two_reads_at_once_never_share_a_reader(log: Log) -> None:
    with kept_clients("confluent", SERVERS, COMMITTED, headers=False) as outer:
        assert use() is not outer

    assert log == [("open", "h:1"), ("open", "h:1"), ("close", "h:1")]


def test_only_the_latest_readers_are_kept(log: Log) -> None:
    for number in range(KEPT + 1):
        use(f"h:{number}")

    assert [each for each in log if each[0] == "close"] == [("close", "h:0")]


def test_a_forked_process_leaves_its_parents_readers_alone(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    parents = use()
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    child = use()
    close_kept_clients()
    monkeypatch.setattr(os, "getpid", lambda: pid)

    assert child is not parents
    assert use() is parents
    assert log == [("open", "h:1"), ("open", "h:1"), ("close", "h:1")]
