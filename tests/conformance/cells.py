"""List the cells of the table: a state, a request, and whose producer id and epoch it carries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code

from . import broker_state
from .calls import NOBODY, Answer, Caller
from .states import DRIVERS, LAST, OF_THE_BROKER, STRANGER, WRITTEN, Place

Request = Callable[[Caller, Place, ProducerIdAndEpoch], Answer]


@dataclass(frozen=True, slots=True)
class Cell:
    """One question to a broker that runs a version of transactions."""

    version: int
    state: str
    request: str
    relation: str

    @property
    def key(self) -> str:
        return f"{self.version} | {self.state} | {self.request} | {self.relation}"


def _init(version: int) -> Request:
    return lambda caller, place, who: caller.init(place.name, who, version)


def _add(version: int, *, other: bool = False) -> Request:
    return lambda caller, place, who: caller.add(place.name, who, place.other if other else place.touched, version)


def _add_batched(*, verify: bool, other: bool, version: int = 5) -> Request:
    return lambda caller, place, who: caller.add_batched(
        place.name, who, place.other if other else place.touched, version, verify=verify
    )


def _end(version: int, *, commit: bool) -> Request:
    return lambda caller, place, who: caller.end(place.name, who, version, commit=commit)


def _produce(version: int, sequence: int, *, other: bool = False) -> Request:
    return lambda caller, place, who: caller.produce(
        place.name, who, place.other if other else place.touched, sequence, version
    )


def _idempotent(version: int, sequence: int) -> Request:
    return lambda caller, place, who: caller.produce(None, who, place.touched, sequence, version)


def _add_offsets(version: int) -> Request:
    return lambda caller, place, who: caller.add_offsets(place.name, who, place.group, version)


def _commit_offsets(version: int) -> Request:
    return lambda caller, place, who: caller.commit_offsets(place.name, who, place.group, place.touched, version)


def _mark(coordinator_epoch: int, *, commit: bool = False) -> Request:
    return lambda caller, place, who: caller.mark(who, place.touched, coordinator_epoch, commit=commit)


def _describe(caller: Caller, place: Place, who: ProducerIdAndEpoch) -> Answer:
    return broker_state.described(caller, place.name, {place.touched: "here", place.other: "there"})


def _list(version: int, *, own_id: bool = False, own_state: bool = False, older_ms: int = -1) -> Request:
    def ask(caller: Caller, place: Place, who: ProducerIdAndEpoch) -> Answer:
        states = [caller.describe(place.name)[0] or "Empty"] if own_state else []
        ids = [who.producer_id] if own_id else []
        found = broker_state.listed(caller, states, ids, older_ms=older_ms, version=version).get(place.name)
        return Answer(Code.NONE, shown="not listed" if found is None else f"listed {found[0]}")

    return ask


MAIN: Mapping[str, Request] = {
    "InitProducerId 5": _init(5),
    "AddPartitions 3": _add(3),
    "AddPartitions 3, another": _add(3, other=True),
    "AddPartitions 5": _add_batched(verify=False, other=False),
    "AddPartitions 5, verify": _add_batched(verify=True, other=False),
    "AddPartitions 5, verify another": _add_batched(verify=True, other=True),
    "AddOffsets 4": _add_offsets(4),
    "EndTxn 4 commit": _end(4, commit=True),
    "EndTxn 4 abort": _end(4, commit=False),
    "EndTxn 5 commit": _end(5, commit=True),
    "EndTxn 5 abort": _end(5, commit=False),
    "Produce 11 next": _produce(11, WRITTEN),
    "Produce 12 next": _produce(12, WRITTEN),
    "Produce 12 first": _produce(12, 0),
    "TxnOffsetCommit 3": _commit_offsets(3),
    "TxnOffsetCommit 5": _commit_offsets(5),
    "WriteTxnMarkers 1 abort": _mark(0),
}
"""Asked by everybody."""
MORE: Mapping[str, Request] = {
    "InitProducerId 3": _init(3),
    "AddPartitions 1": _add(1),
    "AddPartitions 4": _add_batched(verify=False, other=False, version=4),
    "AddPartitions 4, verify": _add_batched(verify=True, other=False, version=4),
    "AddOffsets 1": _add_offsets(1),
    "EndTxn 1 commit": _end(1, commit=True),
    "Produce 9 next": _produce(9, WRITTEN),
    "Produce 9 first": _produce(9, 0),
    "Produce 11 first": _produce(11, 0),
    "Produce 11 again": _produce(11, WRITTEN - 1),
    "Produce 12 again": _produce(12, WRITTEN - 1),
    "Produce 11 gap": _produce(11, WRITTEN + 2),
    "Produce 12 gap": _produce(12, WRITTEN + 2),
    "Produce 9, another": _produce(9, 0, other=True),
    "Produce 11, another": _produce(11, 0, other=True),
    "Produce 12, another": _produce(12, 0, other=True),
    "Produce 12, another, gap": _produce(12, 3, other=True),
    "Produce 12 idempotent next": _idempotent(12, WRITTEN),
    "Produce 9 idempotent first": _idempotent(9, 0),
    "TxnOffsetCommit 4": _commit_offsets(4),
    "WriteTxnMarkers 1 commit": _mark(0, commit=True),
    "WriteTxnMarkers 1 abort, coordinator -1": _mark(-1),
}
"""Asked by the holder and its predecessor only."""
LOOKS: Mapping[str, Request] = {
    "DescribeTransactions 0": _describe,
    "ListTransactions 0 of its state": _list(0, own_state=True),
    "ListTransactions 1 of its producer id": _list(1, own_id=True),
    "ListTransactions 1 of more than 0 s": _list(1, older_ms=0),
    "ListTransactions 1 of more than 1 h": _list(1, older_ms=3_600_000),
}
"""Change nothing; whose ids are asked for matters for one alone."""
REQUESTS: Mapping[str, Request] = {**MAIN, **MORE, **LOOKS}

CURRENT, BEFORE, AHEAD, HELD, OTHER, NAMELESS = "current", "current-1", "current+1", "held", "other id", "none"
_EVERYBODY = (CURRENT, BEFORE, AHEAD, HELD, OTHER)
_ENTITLED = (CURRENT, BEFORE)


def cells(version: int) -> Iterator[Cell]:
    """Every cell of a broker that runs this version of transactions."""
    for state in DRIVERS if version == 2 else sorted(OF_THE_BROKER):
        for request in REQUESTS:
            for relation in _relations(state, request):
                yield Cell(version, state, request, relation)


_AT_THE_LAST: Mapping[str, tuple[str, ...]] = {
    "InitProducerId 5": (CURRENT, HELD, NAMELESS),
    "AddPartitions 3": (HELD,),
    "EndTxn 4 abort": (CURRENT,),
    "EndTxn 4 commit": (CURRENT,),
    "EndTxn 5 abort": (CURRENT, HELD),
    "EndTxn 5 commit": (CURRENT, HELD),
}
"""All that is asked at the last epoch, since each cell costs so much."""


def _relations(state: str, request: str) -> tuple[str, ...]:
    if state in LAST:
        wanted = _AT_THE_LAST.get(request, ())
        held_is_current = state in ("Empty, last epoch", "Ongoing 2, last epoch")
        return tuple(each for each in wanted if each != HELD) if held_is_current else wanted
    if request in LOOKS:
        return (CURRENT, OTHER) if "producer id" in request else (CURRENT,)
    if request.startswith("Init"):
        return (*_EVERYBODY, NAMELESS) if request in MAIN else (*_ENTITLED, NAMELESS)
    if state == "unknown":
        return (CURRENT,)
    return _EVERYBODY if request in MAIN else _ENTITLED


def bearer(relation: str, current: ProducerIdAndEpoch, held: ProducerIdAndEpoch) -> ProducerIdAndEpoch:
    """The producer id and epoch of a request, from those of the coordinator and of the client."""
    return {
        CURRENT: current,
        BEFORE: ProducerIdAndEpoch(current.producer_id, current.epoch - 1),
        AHEAD: ProducerIdAndEpoch(current.producer_id, current.epoch + 1),
        HELD: held,
        OTHER: ProducerIdAndEpoch(STRANGER.producer_id, current.epoch),
        NAMELESS: NOBODY,
    }[relation]
