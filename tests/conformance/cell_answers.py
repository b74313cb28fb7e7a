"""Ask a broker every cell, and describe the answers independently of the run."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code

from . import broker_state
from .calls import NOBODY, NOT_YET, Answer, Caller
from .cells import REQUESTS, Cell, bearer
from .slow_states import Lengthy
from .states import DRIVERS, LAST, OFFSETS, SHORT, STRANGER, STUCK, TIMED, Place

_ANOTHER = "another"
_COORDINATORS = 30
"""Ids enough to meet each of a few coordinator partitions."""
_CHUNK = 100
"""Cells made ready together, so that those of timeouts wait once."""


def answers(caller: Caller, wanted: Sequence[Cell], lengthy: Lengthy) -> Iterator[tuple[Cell, str]]:
    """What the broker says to each cell."""
    warm(caller)
    for _, some in groupby(wanted, key=lambda cell: cell.state):
        yield from _of_one_state(caller, list(some), lengthy)


def warm(caller: Caller) -> None:
    """Wait until every coordinator does its work."""
    topic = f"warm-up-{uuid.uuid4().hex[:8]}"
    caller.create(topic, 1)
    for number in range(_COORDINATORS):
        caller.warm_up(f"{topic}-{number}", TopicPartition(topic, 0))


def _of_one_state(caller: Caller, wanted: Sequence[Cell], lengthy: Lengthy) -> Iterator[tuple[Cell, str]]:
    for first in range(0, len(wanted), _CHUNK):
        chunk = wanted[first : first + _CHUNK]
        topic = f"golden-{uuid.uuid4().hex[:8]}"
        others = [number for number, cell in enumerate(chunk) if _ANOTHER in cell.request]
        caller.create(topic, len(chunk) + len(others) + 1)
        places = [_place(topic, number, len(chunk), others) for number in range(len(chunk))]
        if chunk[0].state in LAST:
            lengthy.exhaust([place.name for place in places])
        ready = [(cell, place, DRIVERS[cell.state](caller, place)) for cell, place in zip(chunk, places, strict=True)]
        if chunk[0].state in TIMED:
            lengthy.outlast(SHORT)
        for cell, place, held in ready:
            yield cell, _asked(caller, cell, place, held)


def _place(topic: str, number: int, cells: int, others: Sequence[int]) -> Place:
    other = others.index(number) if number in others else len(others)  # the last one nobody writes to
    return Place(
        f"{topic}-{number}",
        f"group-{topic}-{number}",
        TopicPartition(topic, number),
        TopicPartition(topic, cells + other),
    )


def _asked(caller: Caller, cell: Cell, place: Place, held: ProducerIdAndEpoch) -> str:
    if cell.state in TIMED:
        caller.settled(place.name, unless="Ongoing")
    look = caller.describe if cell.state in STUCK else caller.settled
    before, current = look(place.name)
    if not before:
        current = STRANGER
    who = bearer(cell.relation, current, held)
    answered = _answered(caller, lambda: REQUESTS[cell.request](caller, place, who))
    state, after = look(place.name)
    words = (answer_text(answered, current), _holds(state, after, current), *_wrote(caller, place, current))
    return "; ".join((*words, *_committed(caller, place)) if cell.state in OFFSETS else words)


def _answered(caller: Caller, ask: Callable[[], Answer]) -> Answer:
    """The answer of coordinators that do their work: until they do, every client asks again, and nothing has changed.

    Kafka verifies a write of a group with a request of its own, and says the same where its network delays that.
    """
    answered = ask()
    while answered.code in NOT_YET:
        caller.runtime.sleep(0.05)
        answered = ask()
    return answered


def answer_text(answered: Answer, current: ProducerIdAndEpoch) -> str:
    """An answer in words, its producer by how it differs from the current one."""
    words = [answered.code._name_]
    if answered.producer != NOBODY:
        words.append(relative(answered.producer, current))
    if answered.offset >= 0:
        words.append(f"offset {answered.offset}")
    if answered.shown:
        words.append(answered.shown)
    return " ".join(words)


def _holds(state: str, after: ProducerIdAndEpoch, current: ProducerIdAndEpoch) -> str:
    return f"then {state} {relative(after, current)}" if state else "then unknown"


def _wrote(caller: Caller, place: Place, current: ProducerIdAndEpoch) -> Iterator[str]:
    for where, name in ((place.touched, "here"), (place.other, "there")):
        for each in sorted(caller.writers(where), key=lambda one: one["producer_id"] != current.producer_id):
            who = relative(ProducerIdAndEpoch(each["producer_id"], each["producer_epoch"]), current)
            yield f"{name} {who} sequence {each['last_sequence']} open {each['current_txn_start_offset']}"


def _committed(caller: Caller, place: Place) -> Iterator[str]:
    for stable in (False, True):
        found = broker_state.group_offset(caller, place.group, place.touched, stable=stable)
        yield f"{'stable' if stable else 'group'} {found.name if isinstance(found, Code) else found}"


def relative(producer: ProducerIdAndEpoch, current: ProducerIdAndEpoch) -> str:
    """How a producer differs from the current one."""
    if producer.producer_id == current.producer_id:
        return f"same{producer.epoch - current.epoch:+d}"
    if producer.producer_id == STRANGER.producer_id:
        return f"stranger {producer.epoch}"
    return f"new {producer.epoch}"


def nested(found: Mapping[Cell, str]) -> dict[str, dict[str, dict[str, str]]]:
    """The table as it is kept: by broker and state, by request, by relation."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for cell, answer in found.items():
        broker = f"transaction.version {cell.version}, {cell.state}"
        table.setdefault(broker, {}).setdefault(cell.request, {})[cell.relation] = answer
    return table
