"""Install every distribution with the lowest version of each dependency that it asks for, editable, without PySpark.

`python -m release.lowest` does so where it runs: an environment of its own with uv. What the tests need comes with it;
`--connectors` leaves that as it is, and installs the lowest pytest, with which connectors are tested.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from release.workspace import extras, projects, requirements

LEFT_OUT = "eosfw-spark"
"""PySpark is built for a minute and has environments of its own."""
NEWER = {"pytest"}
"""The tests of this repository need a newer one than the tests of connectors."""


def main() -> None:
    """Install what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connectors", action="store_true", help="the lowest pytest, too")
    connectors: bool = parser.parse_args().connectors
    members = projects()
    asked = {Requirement(each).name for file in members.values() for each in requirements(file)} - members.keys()
    workspace = tomllib.loads(members["eosfw"].read_text(encoding="utf-8"))
    test = [] if connectors else tools(workspace["dependency-groups"])
    editable = [word for name, file in members.items() if name != LEFT_OUT for word in ("--editable", parts(file))]
    # The pins of the project would bind here, too.
    command = ["uv", "pip", "install", "--no-config", "--python", sys.executable]
    command += ["--upgrade", "--resolution", "lowest-direct"]
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        pins = workspace["tool"]["uv"]["constraint-dependencies"]
        constraints.write_text("\n".join(bounds(pins, test, asked)), encoding="utf-8")
        sys.exit(subprocess.call([*command, "--constraint", constraints, *test, *editable]))


def bounds(pins: Iterable[str], test: Iterable[str], asked: set[str]) -> list[str]:
    """The pins of what only tests need; of all else, what is not to be exceeded."""
    exact = {each for each in test if each not in asked or each in NEWER}
    return [pin if Requirement(pin).name in exact else pin.replace("==", "<=", 1) for pin in pins]


def tools(groups: dict[str, list[Any]], name: str = "test") -> list[str]:
    """What a dependency group asks for, with the groups that it includes."""
    return [
        one
        for each in groups[name]
        for one in ([each] if isinstance(each, str) else tools(groups, each["include-group"]))
    ]


def parts(file: Path) -> str:
    """The folder of a distribution with its extras, but for those that need what is left out."""
    names = [name for name, asked in extras(file).items() if not any(each.startswith(LEFT_OUT) for each in asked)]
    return f"{file.parent}[{','.join(names)}]"


if __name__ == "__main__":
    main()
