"""What a worker makes of its leader's answer to a request for fencing."""

from __future__ import annotations

from typing import Any, cast

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError, RequestRefusedError, RetriableError
from eosfw.protocols import RestResponse
from eosfw.runtime.fencing.leader_client import LeaderClient
from eosfw.state.fencing.failure import may_pass


class Answering:
    """Stands for the member, the signatures and the REST interface: the leader gives one answer."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.asked = 0

    def leads(self) -> bool:
        return False

    def leader_name(self) -> str:
        return "worker-1"

    def leader_url(self) -> str:
        return "http://leader:8083/"

    def headers(self, *_: object) -> dict[str, str]:
        return {}

    def request(self, *_: object) -> RestResponse:
        self.asked += 1
        return RestResponse(self._status, b'{"message": "1 of 2 could not be fenced"}')


def client(answering: Any) -> LeaderClient:
    return LeaderClient(cast("Any", None), answering, answering, answering, ThreadRuntime())


def test_a_refusal_by_the_leader_fails_the_request_at_once() -> None:
    """FEN-08: an ACL that is missing there is missing the next time as well."""
    answering = Answering(500)
    with pytest.raises(EosfwError, match="leader:8083/ answered 500: 1 of 2 could not be fenced") as failure:
        client(answering).fence_zombies("c", 0)

    assert not may_pass(failure.value)
    assert answering.asked == 1


@pytest.mark.parametrize("status", [403, 409, 503])
def test_a_passing_trouble_of_the_leader_is_an_error_that_may_pass(status: int) -> None:
    """FEN-08: the task asks again."""
    with pytest.raises(RetriableError) as failure:
        client(Answering(status)).fence_zombies("c", 0)

    assert may_pass(failure.value)


def test_a_request_that_cannot_be_signed_yet_may_pass() -> None:
    """SEC-03: the leader has not written its first session key."""
    answering: Any = Answering(204)
    answering.headers = unsigned
    with pytest.raises(RetriableError, match="no key yet"):
        client(answering).fence_zombies("c", 0)

    assert answering.asked == 0


def unsigned(*_: object) -> dict[str, str]:
    raise RequestRefusedError("no key yet", 503)
