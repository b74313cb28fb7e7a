"""Plant deliberate bugs, one after the other, and name the test that catches each (`mutants.toml`).

`--tree FOLDER` plants them in another checkout, so that two states of the tests can be compared; `--only 4,17` plants
some of them. A mutant whose place is not found once, or whose tests all pass, ends the script with 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmark import ContenderError, run_main, scaled, show

HERE = Path(__file__).parent
SHIPPED = ("src", "backends/*/src", "plugins/*/src", "pytest_eos/src")
CHOSEN = "not kafka and not ci and not nightly"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One deliberate bug: the text it replaces in what is shipped, and the folders with tests that should notice."""

    number: int
    bug: str
    old: str
    new: str
    tests: Sequence[str]
    spark: bool = False

    def quickest_first(self) -> tuple[bool, int]:
        return self.tests[0] != "tests/state", self.number


def main() -> int:
    arguments = parsed()
    wanted = [one for one in every_mutant() if not arguments.only or one.number in arguments.only]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        tree = clone_of(arguments.tree, Path(folder) / "tree")
        for mutant in sorted(wanted, key=Mutant.quickest_first)[: scaled(len(wanted))]:
            rows.append(row := judged(tree, mutant))
            print("| {mutant} | {bug} | {caught_by} | {seconds} |".format_map(row), file=sys.stderr, flush=True)
    show({"mutants": rows, "caught": sum(row["caught"] for row in rows), "planted": len(rows)})
    return 0 if all(row["caught"] for row in rows) else 1


def every_mutant() -> list[Mutant]:
    return [Mutant(**one) for one in tomllib.loads((HERE / "mutants.toml").read_text())["mutants"]]


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, default=HERE.parent, help="the checkout to plant them in")
    parser.add_argument("--only", type=lambda text: {int(one) for one in text.split(",")}, help="numbers, by commas")
    return parser.parse_args()


def clone_of(tree: Path, folder: Path) -> Path:
    """A copy of what is committed, so that no mutant ever stands in the checkout itself."""
    subprocess.run(["git", "clone", "--quiet", tree, folder], check=True)
    return folder


def judged(tree: Path, mutant: Mutant) -> dict[str, object]:
    began = time.perf_counter()
    with planted(tree, mutant):
        test = catching_test(tree, mutant)
    seconds = round(time.perf_counter() - began)
    found = {"mutant": mutant.number, "bug": mutant.bug, "caught": test is not None}
    return {**found, "caught_by": test or "nothing", "seconds": seconds}


@contextmanager
def planted(tree: Path, mutant: Mutant) -> Iterator[None]:
    path = place_of(modules_of(tree), mutant)
    original = path.read_text()
    path.write_text(original.replace(mutant.old, mutant.new))
    try:
        yield
    finally:
        path.write_text(original)


def modules_of(tree: Path) -> Mapping[Path, str]:
    """What is shipped, by file."""
    files = [path for root in SHIPPED for folder in tree.glob(root) for path in folder.rglob("*.py")]
    return {path: path.read_text() for path in files}


def place_of(modules: Mapping[Path, str], mutant: Mutant) -> Path:
    """The one file with the text that the mutant replaces, wherever modules have moved to."""
    found = [path for path, text in modules.items() if mutant.old in text]
    if len(found) != 1 or modules[found[0]].count(mutant.old) != 1:
        where = ", ".join(map(str, found)) or "nowhere"
        raise ContenderError(f"mutant {mutant.number} must fit in one place, it fits {where}: mend mutants.toml")
    return found[0]


def catching_test(tree: Path, mutant: Mutant) -> str | None:
    """The first test that fails with the mutant in place, folder by folder; each is run again by itself.

    The first failure interrupts what the other process runs just then, and that is reported as failed, too. Where none
    of these fails by itself, as under load or by another example of Hypothesis, the folder is run to its end.
    """
    for folder in mutant.tests:
        for until in (("-x",), ()):
            failed = failures(tree, mutant, *until, "-n", "2", folder)
            caught = next((test for test in failed if failures(tree, mutant, test)), None)
            if caught is not None:
                return caught
            if not failed:
                break
    return None


def failures(tree: Path, mutant: Mutant, *arguments: str) -> list[str]:
    """The ids of the tests that fail."""
    marks = CHOSEN if mutant.spark else f"{CHOSEN} and not spark"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks, *arguments]
    ran = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, text=True, check=False)
    lines = ran.stdout.splitlines()
    return [line.split(" ", 1)[1].split(" - ")[0] for line in lines if line.startswith(("FAILED ", "ERROR "))]


def environment(tree: Path) -> Mapping[str, str]:
    """The clone's packages before the installed ones, in the processes that tests start as well."""
    paths = [str(folder) for root in SHIPPED for folder in tree.glob(root)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


if __name__ == "__main__":
    run_main(main)
