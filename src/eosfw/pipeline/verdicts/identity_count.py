"""Counts of identities that were found against those expected, in bounded memory."""

from __future__ import annotations

import marshal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

from eosfw.count_difference import CountDifference
from eosfw.errors import EosfwError
from eosfw.identity import identity_text
from eosfw.protocols import Verdict

_IN_MEMORY = 16 << 20
"""Bytes of a spool that stay in memory."""
_PER_PASS = 500_000
"""Identities compared in one pass: some 50 MB."""
EXAMPLES = 5
"""How many duplicates, and how many missing identities, a verdict lists."""


class SpoolError(EosfwError):
    """Identities could not be kept in a temporary file."""


class Spool:
    """Chunks of values that can be read any number of times: in memory while they are few, else in a temporary file.

    A context manager that deletes the file.
    """

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, prefix="eosfw-verdict-")  # noqa: SIM115 (closed by `__exit__`)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __len__(self) -> int:
        return self._count

    def add(self, chunk: Sequence[Any]) -> None:
        """Append a chunk; not while the spool is read."""
        packed = marshal.dumps(list(chunk))
        try:
            self._file.write(len(packed).to_bytes(8) + packed)
            self._file.flush()
        except OSError as why:
            place = f" {tempfile.tempdir}" if tempfile.tempdir else ""
            raise SpoolError(
                f"the temporary folder{place} cannot hold what is compared ({why.strerror}): make room there, or name "
                f"another one by TMPDIR"
            ) from None
        self._count += len(chunk)

    def __iter__(self) -> Iterator[list[Any]]:
        self._file.seek(0)
        while size := int.from_bytes(self._file.read(8)):
            yield marshal.loads(self._file.read(size))  # noqa: S302 (written by `add` alone)


def count_identities(
    found: Callable[[], Iterable[Sequence[bytes]]], expected: Spool, at_once: int = _PER_PASS
) -> Verdict:
    """Compare identities that were found with those expected, in this process.

    `found` reads them anew at each call; it is called twice only if the verdict needs examples. More than `at_once`
    identities are compared in several passes, which bounds memory.
    """
    with Spool() as seen:
        for chunk in found():
            seen.add(list(map(hash, chunk)))
        difference = CountDifference(EXAMPLES)
        passes = 1 + max(len(seen), len(expected)) // at_once
        for number in range(passes):
            for fingerprint, excess in _balance(seen, expected, number, passes).items():
                if excess:
                    difference.add_excess(fingerprint, excess)
    return _verdict(difference, found, expected)


def _balance(seen: Spool, expected: Spool, number: int, passes: int) -> Counter[int]:
    """How many times too often each fingerprint of one pass was found.

    64 bits are enough: a collision matters only if one of the two identities is missing and the other one repeated.
    """
    balance = Counter(one for chunk in seen for one in chunk if one % passes == number)
    balance.subtract(one for chunk in expected for one in map(hash, chunk) if one % passes == number)
    return balance


def _verdict(
    difference: CountDifference,
    found: Callable[[], Iterable[Sequence[bytes]]],
    expected: Iterable[Sequence[bytes]],
) -> Verdict:
    """The numbers, with examples."""
    extra = {one.identity: one.seen for one in difference.examples if one.seen}
    short = {one.identity: one.expected for one in difference.examples if one.expected}
    examples = [f"{number} too many: {text}" for text, number in _identities_of(extra, found)]
    examples += [f"missing: {text}" for text, _ in _identities_of(short, lambda: expected)]
    return Verdict(difference.excess, difference.missing, examples)


def _identities_of(
    wanted: dict[int, int], chunks: Callable[[], Iterable[Sequence[bytes]]]
) -> Iterator[tuple[str, int]]:
    """The identities with these fingerprints, as text, with their numbers."""
    left = dict(wanted)
    for chunk in chunks() if left else ():
        for identity in chunk:
            if (number := left.pop(hash(identity), None)) is not None:
                yield identity_text(identity), number
        if not left:
            return
