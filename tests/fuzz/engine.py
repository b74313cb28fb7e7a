"""Fuzz one target in this process: `python -m tests.fuzz.engine TARGET [OPTION ...]`, options of libFuzzer.

Atheris finds inputs by the lines and branches that they reach in our code, so that is instrumented when it is imported.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["eosfw", "eosfw_memory"]):
    from tests.fuzz.targets import TARGETS, check

_REPAIRED = 7
"""Of ten inputs, those whose checksum is made right."""


def main() -> None:
    """Never returns: libFuzzer ends the process."""
    target = TARGETS[sys.argv.pop(1)]

    def mutate(data: bytes, limit: int, seed: int) -> bytes:
        changed = atheris.Mutate(data, limit)
        return target.repair(changed)[:limit] if target.repair and seed % 10 < _REPAIRED else changed

    custom = {"custom_mutator": mutate} if target.repair else {}
    atheris.Setup(sys.argv, lambda data: check(target, data), **custom)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
