"""The actions of a client in a random walk."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from eosfw.ids import ProducerIdAndEpoch
from eosfw_memory.common.codes import Code

from . import broker_state
from .calls import NOBODY, Answer, commit_plain, delete_before

if TYPE_CHECKING:
    from .sequences import Client, Walk

SHORT = 1.0
"""Seconds after which some transactions time out; whoever opens one waits for that at once.

Longer than a busy machine takes for the one request that opens it and writes."""
_STATES = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")
_NONE_AT_ALL = ProducerIdAndEpoch(-1, -1)
_OLDEST_MS, _OLD_MS = 3_600_000, 0

ActionOutcome: TypeAlias = tuple[Answer | str, str]
"""The answer (or its text), and the exact request."""
Action: TypeAlias = "Callable[[Walk, Client], ActionOutcome]"


# --- transactions


def _init(walk: Walk, client: Client) -> ActionOutcome:
    return _became(client, walk.caller.init(client.name)), ""


def _init_named(walk: Walk, client: Client) -> ActionOutcome:
    return _became(client, walk.caller.init(client.name, client.producer)), ""


def _init_short(walk: Walk, client: Client) -> ActionOutcome:
    return _became(client, walk.caller.init(client.name, timeout=SHORT)), ""


def _became(client: Client, answered: Answer) -> Answer:
    if answered.code is Code.NONE:
        client.become(answered.producer)
    return answered


def _add(walk: Walk, client: Client) -> ActionOutcome:
    where = walk.where()
    return walk.caller.add(client.name, client.producer, where), str(where.partition)


def _verify(walk: Walk, client: Client) -> ActionOutcome:
    where = walk.where()
    return walk.caller.add_batched(client.name, client.producer, where, verify=True), str(where.partition)


def _produce(version: int, *, transactional: bool = True) -> Action:
    def produce(walk: Walk, client: Client) -> ActionOutcome:
        where = walk.where()
        next_sequence = client.next_sequences.get(where.partition, 0)
        sequence = max(0, next_sequence + walk.random.choice([0, 0, 0, 0, 0, -1, -6, 2]))
        name = client.name if transactional else None
        answered = walk.caller.produce(name, client.producer, where, sequence, version, walk.value())
        if answered.code is Code.NONE:
            client.next_sequences[where.partition] = max(next_sequence, sequence + 1)
        return answered, f"{where.partition} sequence {sequence}"

    return produce


def _produce_plain(walk: Walk, client: Client) -> ActionOutcome:
    where = walk.where()
    return walk.caller.produce(None, _NONE_AT_ALL, where, -1, 11, walk.value()), str(where.partition)


def _end(version: int) -> Action:
    def end(walk: Walk, client: Client) -> ActionOutcome:
        commit = walk.random.random() < 0.6
        answered = walk.caller.end(client.name, client.producer, version, commit=commit)
        heard = walk.random.random() < 0.8
        if answered.code is Code.NONE and answered.producer != NOBODY and heard:
            client.become(answered.producer)
        return answered, "commit" if commit else "abort"

    return end


def _mark(walk: Walk, client: Client) -> ActionOutcome:
    where, commit = walk.where(), walk.random.random() < 0.3
    answered = walk.caller.mark(client.producer, where, -1, commit=commit)
    return answered, f"{where.partition} {'commit' if commit else 'abort'}"


# --- offsets of a group


def _add_offsets(walk: Walk, client: Client) -> ActionOutcome:
    return walk.caller.add_offsets(client.name, client.producer, walk.group), ""


def _commit_offsets(version: int) -> Action:
    def commit(walk: Walk, client: Client) -> ActionOutcome:
        where, offset = walk.where(), walk.random.randrange(100)
        answered = walk.caller.commit_offsets(client.name, client.producer, walk.group, where, version, offset=offset)
        return answered, f"{where.partition} at {offset}"

    return commit


def _commit_plain(walk: Walk, client: Client) -> ActionOutcome:
    where, offset = walk.where(), walk.random.randrange(100)
    return commit_plain(walk.caller, walk.group, where, offset), f"{where.partition} at {offset}"


def _offset(*, stable: bool) -> Action:
    def fetch(walk: Walk, client: Client) -> ActionOutcome:
        found = [broker_state.group_offset(walk.caller, walk.group, where, stable=stable) for where in walk.partitions]
        return ", ".join(each.name if isinstance(each, Code) else str(each) for each in found), ""

    return fetch


# --- looking in, cutting off


def _describe(walk: Walk, client: Client) -> ActionOutcome:
    found = broker_state.transaction(walk.caller, client.name)
    partitions = " ".join(map(walk.place, found.partitions))
    words = (found.code._name_, found.state, walk.who(found.producer), found.timeout_ms, found.started, partitions)
    return " ".join(map(str, words)), ""


def _list(walk: Walk, client: Client) -> ActionOutcome:
    states = walk.random.sample(_STATES, walk.random.randrange(3))
    producer_ids = [client.producer.producer_id] if walk.random.random() < 0.3 else []
    older_ms = walk.random.choice([-1, -1, _OLD_MS, _OLDEST_MS])
    found = broker_state.listed(walk.caller, states, producer_ids, older_ms=older_ms).get(client.name)
    message = f"{found[0]} {walk.id(found[1])}" if found else "not listed"
    return message, f"{'/'.join(states)} {'of its id' if producer_ids else ''} older than {older_ms}"


def _writers(walk: Walk, client: Client) -> ActionOutcome:
    where = walk.where()
    found = sorted(walk.caller.writers(where), key=lambda each: each["producer_id"])
    answered = [
        f"{walk.who(ProducerIdAndEpoch(each['producer_id'], each['producer_epoch']))} "
        f"sequence {each['last_sequence']} open {each['current_txn_start_offset']} by {each['coordinator_epoch']}"
        for each in found
    ]
    return ", ".join(answered) or "nobody", str(where.partition)


def _ends(walk: Walk, client: Client) -> ActionOutcome:
    return ", ".join(str(broker_state.ends(walk.caller, where)) for where in walk.partitions), ""


def _delete(walk: Walk, client: Client) -> ActionOutcome:
    where = walk.where()
    start, _, high = broker_state.ends(walk.caller, where)
    before = walk.random.choice([-1, max(0, start - 1), high + 1, *[walk.random.randint(start, high)] * 4])
    return delete_before(walk.caller, where, before), f"{where.partition} before {before}"


_ACTIONS: Mapping[str, tuple[int, Action]] = {
    "init": (20, _init),
    "init named": (20, _init_named),
    "init short": (7, _init_short),
    "add 3": (40, _add),
    "verify 5": (20, _verify),
    "produce 9": (30, _produce(9)),
    "produce 11": (50, _produce(11)),
    "produce 12": (80, _produce(12)),
    "produce 12 idempotent": (10, _produce(12, transactional=False)),
    "produce 11 of nobody": (10, _produce_plain),
    "end 4": (40, _end(4)),
    "end 5": (60, _end(5)),
    "marker": (5, _mark),
    "add offsets 4": (30, _add_offsets),
    "commit offsets 3": (25, _commit_offsets(3)),
    "commit offsets 5": (25, _commit_offsets(5)),
    "commit offsets outside": (10, _commit_plain),
    "fetch offsets": (10, _offset(stable=False)),
    "fetch stable offsets": (15, _offset(stable=True)),
    "describe": (10, _describe),
    "list": (15, _list),
    "writers": (10, _writers),
    "ends": (10, _ends),
    "delete records": (8, _delete),
}
"""What a client may do, with how often."""


def choose(chance: random.Random) -> tuple[str, Action]:
    """One action by name."""
    name = chance.choices(list(_ACTIONS), weights=[weight for weight, _ in _ACTIONS.values()])[0]
    return name, _ACTIONS[name][1]
