"""A part that never answers fails its contract within seconds; no test waits for it without end."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from eosfw.protocols import GroupAssignment
from pytest_eos.contracts import ConfigProviderContract, ObserverContract, ProvidedValues, threads
from pytest_eos.contracts.backends import group_member
from pytest_eos.contracts.backends.group_member import MemberProcess

BLOCKED = "of 4 threads have not come back within 0.2 s: it must not let one wait for another"


class Blocking:
    """A provider and an observer that let no second thread in."""

    name = "blocking"

    def __init__(self) -> None:
        self._first = threading.Lock()

    def get(self, path: str, keys: list[str]) -> Any:
        self._first.acquire()
        return SimpleNamespace(values={"a": "b"})

    def observe(self, _: object) -> None:
        self._first.acquire()


class NeverJoins:
    """A backend whose members are never given anything."""

    @classmethod
    def connect(cls, *_: object) -> NeverJoins:
        return cls()

    def group_consumer(self, **_: object) -> NeverJoins:
        return self

    def poll(self, _: float) -> GroupAssignment:
        return GroupAssignment()


def test_a_config_provider_and_an_observer_that_block_threads_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "PATIENCE", 0.2)
    provided = ProvidedValues(Blocking, {"a": "b"})  # type: ignore[arg-type]

    with pytest.raises(pytest.fail.Exception, match=f"4 {BLOCKED}"):
        ConfigProviderContract().test_several_threads_may_ask_at_once(Blocking(), provided)  # type: ignore[arg-type]
    with pytest.raises(pytest.fail.Exception, match=f"4 {BLOCKED}"):
        ObserverContract().test_many_threads_are_heard_at_once(Blocking)  # type: ignore[arg-type]


def test_a_member_that_never_joins_its_group_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_member, "PATIENCE", 5.0)

    with pytest.raises(pytest.fail.Exception, match="the member's process said nothing for 5 s"):
        MemberProcess(NeverJoins(), {}, {})  # type: ignore[arg-type]
