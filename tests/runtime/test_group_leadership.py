"""When an elected worker claims the privilege to write."""

from __future__ import annotations

from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import NotLeaderError
from eosfw.runtime.group.leadership import GroupLeadership
from eosfw.runtime.group.services import MembershipServices, MembershipSettings


class Elected:
    """A coordinator, leader and members topic that note what is asked of them."""

    def __init__(self, *answers: bool) -> None:
        self.answers = list(answers)
        self.term: int | None = 1
        self.calls: list[str] = []

    def confirm(self, timeout: float) -> bool:
        self.calls.append("confirm")
        return self.answers.pop(0)

    def start(self) -> None:
        self.calls.append("claim")

    def read_to_end(self) -> None:
        self.calls.append("read")
        raise InterruptedError


def leadership(elected: Any) -> GroupLeadership:
    settings = MembershipSettings(group_id="g", worker="w", url=None, support="enabled", version="1")
    services = MembershipServices(
        settings=settings,
        backend=elected,
        members=elected,
        leader=elected,
        announce=lambda _: None,
        runtime=ThreadRuntime(),
        wake=lambda: None,
    )
    return GroupLeadership(services, elected)


def test_the_coordinator_is_asked_right_before_the_claim():
    """LDR-04: an elected worker that slept would fence the rightful leader."""
    slept = Elected(False)
    with pytest.raises(NotLeaderError):
        leadership(slept).run({})
    assert slept.calls == ["confirm"]

    awake = Elected(True)
    with pytest.raises(InterruptedError):
        leadership(awake).run({})
    assert awake.calls == ["confirm", "claim", "read"]


def test_a_follower_claims_nothing():
    follower = Elected()
    follower.term = None
    leading = leadership(follower)

    leading.run({})

    assert follower.calls == []
    assert not leading.leads
