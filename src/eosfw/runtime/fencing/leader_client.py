"""Requests for zombie fencing by the tasks of a worker, to whichever worker leads (FEN-08)."""

from __future__ import annotations

import json
from urllib.parse import quote

from eosfw.errors import EosfwError, NotLeaderError, RequestRefusedError, RetriableError, UnsupportedError
from eosfw.protocols import RestResponse, RestServer
from eosfw.runtime.fencing.leader import Leader
from eosfw.runtime.fencing.request_signatures import InternalRequestSignatures
from eosfw.runtime.group.membership import GroupMembership
from eosfw.runtime.storage.config_topic import ConfigTopic

TIMEOUT = 90.0
"""Seconds that one request may take, as Connect's REST operations do (CFG-10)."""
_PASSING = (403, 404, 409, 503)
"""Answers that another moment may change: a new session key or leader, a connector that was deleted, as this worker
will read soon, a rebalance, a worker that starts."""
_TIMED_OUT = "Request timed out"
"""How Kafka Connect's message begins when an operation was not done in time, with status 500."""


class LeaderClient:
    """Has the leader fence zombies: in this process if it leads, else by a signed request."""

    def __init__(
        self,
        leader: Leader,
        member: GroupMembership,
        signatures: InternalRequestSignatures,
        rest: RestServer | None,
        topic: ConfigTopic,
    ) -> None:
        self._leader, self._member, self._signatures, self._rest = leader, member, signatures, rest
        self._topic = topic

    def fence_zombies(self, connector: str, generation: int) -> None:
        """Return once no earlier producer of the connector can commit; raise if one may."""
        if self._member.leads():
            self._leader.fence_zombies(connector, generation)
            return
        leader, url = self._member.leader_name(), self._member.leader_url()
        if self._rest is None:
            raise UnsupportedError(
                "This worker is not able to communicate with the leader of its group, which is required for "
                "exactly-once source tasks: install the REST interface, `pip install 'eosfw[rest]'`"
            )
        if leader is None or url is None:
            raise NotLeaderError("the group has no leader now, or the leader has no REST interface", None)
        # The generation is not sent, as in Kafka Connect: the leader fences by the newest one that it reads.
        path = f"/connectors/{quote(connector, safe='')}/fence"
        headers = self._signed(leader, "PUT", path)
        _check(self._rest.request("PUT", url.rstrip("/") + path, b"", headers, TIMEOUT), url)
        # The leader has written the task count record, which the task looks for next.
        self._topic.read_to_end()

    def _signed(self, leader: str, method: str, path: str) -> dict[str, str]:
        try:
            return dict(self._signatures.headers(leader, method, path, b""))
        except RequestRefusedError as error:  # the leader has not written its first key yet
            raise RetriableError(str(error)) from error


def _check(answer: RestResponse, url: str) -> None:
    if answer.status < 300:
        return
    message = _message(answer)
    text = f"the leader at {url} answered {answer.status}: {message}"
    passing = answer.status in _PASSING or message.startswith(_TIMED_OUT)
    raise RetriableError(text) if passing else EosfwError(text)


def _message(answer: RestResponse) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return answer.body.decode(errors="replace")[:200]
