"""Name every test that ran in no tox environment: skipped wherever it was collected, or chosen by none.

Tests that only the nightly lane runs do not count: this is about what ran before a change is merged.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

CHOSEN = re.compile(r"backend '[^']+' (declares|does not declare) ")
"""Why a contract leaves out a test."""


def outcomes(folder: Path) -> tuple[set[str], dict[str, str]]:
    """The tests that ran in some environment, and those that were skipped in some, with the reason."""
    ran: set[str] = set()
    skipped: dict[str, str] = {}
    for file in sorted(folder.glob("*.xml")):
        for case in ET.parse(file).iter("testcase"):
            name = f"{case.get('classname')}.{case.get('name')}"
            skip = case.find("skipped")
            if skip is None:
                ran.add(name)
            else:
                skipped[name] = skip.get("message", "")
    return ran, skipped


def functions(listed: str) -> set[str]:
    """Every test function that `pytest --collect-only -q` listed, by the name that JUnit files give it."""
    ids = [line.split("[")[0] for line in listed.splitlines() if "::" in line]
    return {name.replace(".py::", ".").replace("::", ".").replace("/", ".") for name in ids}


def gaps(ran: set[str], skipped: dict[str, str], there: set[str]) -> dict[str, str]:
    """The tests that ran nowhere, with the reason; `there` are all test functions."""
    # A contract asks a backend for what it declares, or how it refuses the rest: a choice of tests, not a gap.
    missed = {name: why for name, why in skipped.items() if name not in ran and not CHOSEN.search(why)}
    known = {name.split("[")[0] for name in [*ran, *skipped]}
    unchosen = dict.fromkeys(there - known, "no environment chose it")
    return {name: f"skipped: {why}" for name, why in missed.items()} | unchosen


def main() -> None:
    """Of a folder of JUnit files and the list of all tests; end with status 1 if some test ran nowhere."""
    folder, listed = map(Path, sys.argv[1:])
    ran, skipped = outcomes(folder)
    never = gaps(ran, skipped, functions(listed.read_text(encoding="utf-8")))
    for name, why in sorted(never.items()):
        print(f"never run: {name} ({why})")
    print(f"{len(ran)} tests ran in some environment, {len(never)} in none")
    sys.exit(bool(never) or not ran)


if __name__ == "__main__":
    main()
