"""State how what was seen differs from what was expected, identity by identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

EXAMPLES = 6
"""How many identities of a kind are shown."""
PLACES = 4


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An identity that appears more or less often than it should, with some of its places."""

    identity: object
    seen: int
    due: int
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """The sums over all identities, and examples."""

    duplicates: int
    """Appearances beyond those that are due, of identities that are expected."""
    unexpected: int
    """Appearances of identities that nobody expects."""
    missing: int
    examples: tuple[Mismatch, ...] = ()
    compared: int = 0
    """How many were seen and expected, together; of none, nothing is shown."""

    def __bool__(self) -> bool:
        return bool(self.duplicates or self.unexpected or self.missing)


def compare(seen: Counter[bytes], due: Counter[bytes]) -> Difference:
    """Compare counts; examples without places."""
    mismatches = [Mismatch(one, seen[one], due[one]) for one in seen.keys() | due.keys() if seen[one] != due[one]]
    too_many = [one for one in mismatches if one.seen > one.due]
    return Difference(
        sum(one.seen - one.due for one in too_many if one.due),
        sum(one.seen for one in too_many if not one.due),
        sum(one.due - one.seen for one in mismatches if one.seen < one.due),
        examples_of(mismatches),
        seen.total() + due.total(),
    )


def examples_of(mismatches: Iterable[Mismatch]) -> tuple[Mismatch, ...]:
    """Some of each kind, in an order that does not change from run to run."""
    ordered = sorted(mismatches, key=lambda one: repr(one.identity))
    kinds = (
        [one for one in ordered if one.seen > one.due > 0],
        [one for one in ordered if one.seen > one.due == 0],
        [one for one in ordered if one.seen < one.due],
    )
    return tuple(one for kind in kinds for one in kind[:EXAMPLES])


def not_unique(due: Counter[bytes]) -> str | None:
    """What is wrong with expected data that holds an identity more than once."""
    twice = [one for one, count in due.items() if count > 1]
    if not twice:
        return None
    return not_unique_message(len(twice), identity_text(twice[0]))


def not_unique_message(count: int, example: str) -> str:
    """The sentence for it."""
    subject = "1 identity appears" if count == 1 else f"{count:,} identities appear"
    return (
        f"the expected data is itself not unique: {subject} more than once, for example {example}; "
        f"choose a key that tells its records apart"
    )


def identity_text(identity: object) -> str:
    """An identity for people: the parts of one from headers side by side."""
    if identity is None:
        return "(null)"
    if isinstance(identity, bytes):
        return identity.replace(b"\0", b" ").decode(errors="backslashreplace")[:160] or "(empty)"
    return str(identity)[:160]
