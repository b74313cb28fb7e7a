"""Whether what was acknowledged is still there, and what is rebuilt from a log is what it was (KIP-98)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from eosfw.checker.anomaly import Anomaly, Check, anomaly
from eosfw.checker.facts import Decision, Facts, Transaction
from eosfw.checker.operation import INVOKE, Operation

PROCESS: Final = "process"
POWER: Final = "power"
"""What a crash ends, and what acknowledged records outlive."""


def lost_writes(facts: Facts) -> Iterator[Anomaly]:
    """A value of a committed transaction is nowhere in its partition, and no crash has taken it."""
    for send, transaction, crashes in _losses(facts):
        if not crashes:
            what = f"{send.val!r} was sent to {send.part} in a committed transaction, and is not in the log"
            yield anomaly("lost-write", what, [send, *transaction.ends])


def losses_by_crashes(facts: Facts) -> Iterator[Anomaly]:
    """A crash has taken a value that was acknowledged and should have outlived it."""
    declared = facts.of("durability")[-1]
    for send, transaction, crashes in _losses(facts):
        if crashes and (declared.val == POWER or all(crash.val == PROCESS for crash in crashes)):
            outlives = "a power cut" if declared.val == POWER else "the process of the broker"
            what = f"{send.val!r} was committed, should outlive {outlives}, and is gone from {send.part} after a crash"
            yield anomaly("lost-after-crash", what, [declared, send, *transaction.ends, crashes[0]])


def _losses(facts: Facts) -> Iterator[tuple[Operation, Transaction, Sequence[Operation]]]:
    """What was committed and is not there, and the crashes behind that, where it is declared what outlives them."""
    crashes = [crash for crash in facts.of("crash") if crash.val] if facts.of("durability") else []
    for transaction in facts.decided(Decision.COMMITTED):
        for send in transaction.sends:
            if send.part in facts.dumped and not facts.stored_at(send):
                yield send, transaction, [crash for crash in crashes if crash.i > transaction.ends[-1].i]


def rebuilt_states(facts: Facts) -> Iterator[Anomaly]:
    """What a broker has rebuilt from the log of a partition is not what it knew before."""
    before: dict[tuple[str, str], Operation] = {}
    for state in sorted((*facts.of("state", INVOKE), *facts.of("state")), key=lambda each: each.i):
        if state.type == INVOKE:
            before[state.proc, state.part] = state
            continue
        known = before.pop((state.proc, state.part), None)
        if known is not None and known.val != state.val:
            what = f"after a restart of {state.proc} the state of {state.part} is another one than before"
            yield anomaly("rebuilt-state-fault", what, [known, state])


CHECKS = (
    Check(("lost-write",), ("commit", "partition"), lost_writes),
    Check(("lost-after-crash",), ("commit", "partition", "durability", "crash.val"), losses_by_crashes),
    Check(("rebuilt-state-fault",), ("state",), rebuilt_states),
)
