"""Requests for zombie fencing by the tasks of a worker, to whichever worker leads (FEN-08)."""

from __future__ import annotations

import json
import logging
from urllib.parse import quote

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, NotLeaderError, RequestRefusedError, RetriableError, UnsupportedError, one_line
from eosfw.protocols import RestResponse, RestServer
from eosfw.runtime.internal_request_signatures import InternalRequestSignatures
from eosfw.runtime.leader import Leader
from eosfw.runtime.worker_group import WorkerGroupMember

logger = logging.getLogger(__name__)

TIMEOUT = 90.0
"""Seconds that one request may take, as Connect's REST operations do (CFG-10)."""
_PATIENCE = 90.0
"""Seconds for which a request is repeated while the group looks for a leader, or the leader cannot be reached."""
_PAUSES = (0.25, 0.5, 1.0, 2.0)
_REPEATED = (403, 409, 500, 503)
"""Answers that another moment may change: a new session key, a rebalance, a timeout, a worker that starts."""


class LeaderClient:
    """Has the leader fence zombies: in this process if it leads, else by a signed request."""

    def __init__(
        self,
        leader: Leader,
        member: WorkerGroupMember,
        signatures: InternalRequestSignatures,
        rest: RestServer | None,
        runtime: Runtime,
    ) -> None:
        self._leader, self._member, self._signatures, self._rest = leader, member, signatures, rest
        self._runtime = runtime

    def fence_zombies(self, connector: str, generation: int) -> None:
        """Return once no earlier producer of the connector can commit; raise if one may."""
        deadline, attempt = self._runtime.now() + _PATIENCE, 0
        while True:
            try:
                return self._fence(connector, generation)
            except RetriableError as error:
                pause = _PAUSES[min(attempt, len(_PAUSES) - 1)]
                if self._runtime.now() + pause > deadline:
                    raise
                logger.info("fencing of connector %s is tried again in %g s: %s", connector, pause, one_line(error))
                self._runtime.sleep(pause)
                attempt += 1

    def _fence(self, connector: str, generation: int) -> None:
        if self._member.leads():
            self._leader.fence_zombies(connector, generation)
            return
        url = self._member.leader_url()
        if self._rest is None:
            raise UnsupportedError(
                "This worker is not able to communicate with the leader of its group, which is required for "
                "exactly-once source tasks: install the REST interface, `pip install 'eosfw[rest]'`"
            )
        if url is None:
            raise NotLeaderError("the group has no leader now, or the leader has no REST interface", None)
        path = f"/connectors/{quote(connector, safe='')}/fence"
        headers = self._signed("PUT", path)
        _check(self._rest.request("PUT", url.rstrip("/") + path, b"", headers, TIMEOUT), url)

    def _signed(self, method: str, path: str) -> dict[str, str]:
        try:
            return dict(self._signatures.headers(method, path, b""))
        except RequestRefusedError as error:  # the leader has not written its first key yet
            raise RetriableError(str(error)) from error


def _check(answer: RestResponse, url: str) -> None:
    if answer.status < 300:
        return
    text = f"the leader at {url} answered {answer.status}: {_message(answer)}"
    raise RetriableError(text) if answer.status in _REPEATED else EosfwError(text)


def _message(answer: RestResponse) -> str:
    try:
        return str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        return answer.body.decode(errors="replace")[:200]
