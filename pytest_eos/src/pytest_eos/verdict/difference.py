"""The difference between records that were seen and records that are expected."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from eosfw.count_difference import CountDifference, Mismatch
from eosfw.identity import identity_text as bytes_text

EXAMPLES = 6
"""How many mismatches of each kind are shown."""
PLACES = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """The sums over all identities, and examples."""

    duplicates: int
    """How often expected identities were seen too often."""
    unexpected: int
    """How often identities were seen that are not expected."""
    missing: int
    examples: tuple[Mismatch, ...] = ()
    compared: int = 0
    """The number of records seen plus the number expected; 0 means that nothing was compared."""

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.unexpected or self.missing)


def compare(seen: Counter[bytes], due: Counter[bytes]) -> Difference:
    """Compare counts; the examples have no places, and the same order in every run."""
    found = CountDifference(EXAMPLES)
    for identity in sorted((one for one in seen.keys() | due.keys() if seen[one] != due[one]), key=repr):
        found.add(identity, seen[identity], due[identity])
    compared = seen.total() + due.total()
    return Difference(found.duplicates, found.unexpected, found.missing, found.examples, compared)


def not_unique(due: Counter[bytes]) -> str | None:
    """The message for expected data that holds an identity more than once; None if there is none."""
    twice = [one for one, count in due.items() if count > 1]
    if not twice:
        return None
    return not_unique_message(len(twice), identity_text(twice[0]))


def not_unique_message(count: int, example: str) -> str:
    """The message that `count` identities appear more than once."""
    subject = "1 identity appears" if count == 1 else f"{count:,} identities appear"
    return (
        f"the expected data is itself not unique: {subject} more than once, for example {example}; "
        f"choose a key that tells its records apart"
    )


def identity_text(identity: object) -> str:
    """An identity as text for a message."""
    if identity is None:
        return "(null)"
    if isinstance(identity, bytes):
        return bytes_text(identity)[:160] or "(empty)"
    return str(identity)[:160]
