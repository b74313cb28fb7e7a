"""The requests between the workers of a run, for the checker."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from eosfw.checker import NONE
from eosfw.runtime import MAX_CLOCK_SKEW_MS
from pytest_eos.runs.groups.herders import Exchange
from pytest_eos.runs.operations.operation import Fields, operation
from pytest_eos.runs.run import Run

_SESSIONED: Final = "sessioned"
_SIGNATURE: Final = "x-connect-authorization"


class RequestOperations:
    """Operations of the requests that the workers of a group have sent to each other and accepted."""

    def __init__(self, run: Run, since: float) -> None:
        signed = run.group.properties.get("connect.protocol", _SESSIONED) == _SESSIONED  # else nobody signs anything
        self._left = [each for each in run.group.exchanges if signed and (each.sent or each.accepted)]
        self._since = since

    def up_to(self, time: float) -> Iterator[Fields]:
        """Those that came next, up to this time."""
        while self._left and self._left[0].at <= time:
            yield self._operation(self._left.pop(0))

    def _operation(self, exchange: Exchange) -> Fields:
        request = exchange.request
        return operation(
            exchange.worker,
            "signed" if exchange.sent else "accepted",
            val=request.headers.get(_SIGNATURE, "unsigned"),
            ids=(exchange.receiver, request.method, request.path, hashlib.sha256(request.body).hexdigest()[:16]),
            t=max(0.0, exchange.at - self._since),
            count=MAX_CLOCK_SKEW_MS if exchange.sent else _age(exchange),
        )


def _age(exchange: Exchange) -> int:
    """How many milliseconds lie between its signing and its reception, by the clocks of the two workers."""
    return NONE if exchange.age is None else round(abs(exchange.age) * 1000)
