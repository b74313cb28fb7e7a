"""Name every test that was skipped wherever it was collected, from the JUnit files of all tox environments."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path


def outcomes(folder: Path) -> tuple[set[str], dict[str, str]]:
    """The tests that ran in some environment, and those that were skipped in some, with the reason."""
    ran: set[str] = set()
    skipped: dict[str, str] = {}
    for file in sorted(folder.glob("*.xml")):
        for case in ET.parse(file).iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            skip = case.find("skipped")
            if skip is None:
                ran.add(name)
            else:
                skipped[name] = skip.get("message", "")
    return ran, skipped


def main() -> None:
    """End with status 1 if some test ran nowhere."""
    ran, skipped = outcomes(Path(sys.argv[1]))
    # A contract asks a backend only for what it declares: that is a choice of tests, not a gap in the matrix.
    gaps = {name: why for name, why in skipped.items() if "does not declare" not in why}
    never = {name: why for name, why in gaps.items() if name not in ran}
    for name, why in sorted(never.items()):
        print(f"never run: {name} ({why})")
    print(f"{len(ran)} tests ran in some environment, {len(never)} in none")
    sys.exit(bool(never) or not ran)


if __name__ == "__main__":
    main()
