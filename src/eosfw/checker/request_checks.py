"""Whether workers accept only requests of their group, each once and soon (KIP-507)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Facts
from eosfw.checker.operation import NONE, Operation

_MS: Final = 1000


def wrong_signatures(facts: Facts) -> Iterator[Anomaly]:
    """A worker accepts a request that none has signed like this, that came before, or that is too old."""
    signed = {each.val: each for each in reversed(facts.of("signed"))}
    before: dict[str, Operation] = {}
    for accepted in facts.of("accepted"):
        request, first = signed.get(accepted.val), before.setdefault(accepted.val, accepted)
        if (why := _fault(accepted, request, first)) is not None:
            what = f"{accepted.proc} accepted {' '.join(accepted.ids[1:3])}, {why}"
            yield anomaly("wrong-signature", what, [request, first, accepted])


def _fault(accepted: Operation, signed: Operation | None, first: Operation) -> str | None:
    if signed is None or signed.i > accepted.i:
        return "which no worker had signed"
    if signed.ids != accepted.ids:
        return "by the signature of another request"
    if first is not accepted:
        return "which it had accepted before"
    if signed.count == NONE:
        return None
    if accepted.count == NONE:
        return _too_late(accepted.t - signed.t, signed.count, "before")
    return _too_late(accepted.count / _MS, signed.count, "before, or later, by the clocks of the two workers")


def _too_late(seconds: float, allowed_ms: int, when: str) -> str | None:
    return f"which was signed {seconds:g} s {when}" if seconds > allowed_ms / _MS else None


CHECKS = (Check(("wrong-signature",), ("signed", "accepted"), wrong_signatures),)
