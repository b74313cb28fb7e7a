"""Build every distribution of the commit that is checked out, twice; refuse what differs.

`python -m release.build --output FOLDER` leaves wheels, source distributions, a bill of materials, release notes and
SHA256SUMS. What is not committed is not built.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from release import changelog, sbom
from release.workspace import ROOT, projects, version

SUMS = "SHA256SUMS"


@dataclass(frozen=True, slots=True)
class BuildConditions:
    """What a build must not depend on."""

    umask: int
    time_zone: str
    locale: str
    hash_seed: str


FIRST = BuildConditions(0o022, "UTC", "C.UTF-8", "0")
SECOND = BuildConditions(0o077, "Asia/Kathmandu", "C", "4711")


def main() -> None:
    """Build into the folder that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="a new or empty folder (default: dist)")
    parser.add_argument("--package", action="append", help="only this distribution (repeatable)")
    given = parser.parse_args()
    output = given.output.resolve()
    _make_empty(output)
    with tempfile.TemporaryDirectory() as folder:
        first = release(Path(folder, "a"), FIRST, given.package)
        second = release(Path(folder, "another"), SECOND, given.package)
        if different := differing(first, second):
            sys.exit(f"release: two builds of one commit differ in {', '.join(different)}")
        for file in sorted(first.iterdir()):
            shutil.copyfile(file, output / file.name)
            print(output / file.name)
    print(f"release: {version()} of commit {_git(ROOT, 'rev-parse', 'HEAD')}, built twice, the same bytes")


def release(folder: Path, conditions: BuildConditions, packages: list[str] | None = None) -> Path:
    """Everything that a release of the commit consists of, in a folder within this one."""
    checkout, made = folder / "checkout", folder / "made"
    with _umask(conditions.umask):
        folder.mkdir()
        _git(folder, "clone", "--quiet", "--no-hardlinks", str(ROOT), str(checkout))
        _git(checkout, "checkout", "--quiet", "--detach", _git(ROOT, "rev-parse", "HEAD"))
        epoch = _git(checkout, "log", "-1", "--format=%ct")
        environment = _environment(conditions, epoch)
        for chosen in [["--package", name] for name in packages or []] or [["--all-packages"]]:
            _uv(checkout, environment, "build", "--quiet", *chosen, "--out-dir", str(made))
    # Written by uv, so that nobody commits what was built.
    (made / ".gitignore").unlink(missing_ok=True)
    number = version(checkout)
    if not packages:
        _check_complete(made, set(projects(checkout)), number)
    exported = _uv(
        checkout, environment, "export", "--format", "cyclonedx1.5", "--all-packages", "--all-extras", "--no-dev"
    )
    (made / f"eosfw-{number}.cdx.json").write_text(sbom.canonical(exported, number, int(epoch)), encoding="utf-8")
    (made / f"eosfw-{number}-notes.md").write_text(changelog.notes(checkout, number), encoding="utf-8")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(made.iterdir())]
    (made / SUMS).write_text("".join(lines), encoding="ascii")
    return made


def differing(first: Path, second: Path) -> list[str]:
    """The names of the files that are not the same in both folders."""
    names = {file.name for folder in (first, second) for file in folder.iterdir()}
    return sorted(name for name in names - {SUMS} if _bytes(first / name) != _bytes(second / name))


def _make_empty(output: Path) -> None:
    """Remove what this command built earlier; refuse to remove anything else."""
    output.mkdir(parents=True, exist_ok=True)
    there = {file.name for file in output.iterdir()}
    sums = output / SUMS
    earlier = {line.split()[1] for line in sums.read_text(encoding="ascii").splitlines()} if sums.exists() else set()
    if foreign := there - earlier - {SUMS}:
        sys.exit(f"release: {output} holds other files ({', '.join(sorted(foreign)[:3])}); choose an empty folder")
    for name in there:
        (output / name).unlink()


def _check_complete(made: Path, names: set[str], number: str) -> None:
    """A distribution that was left out would be missed only by who installs it."""
    stems = [f"{name.replace('-', '_')}-{number}" for name in names]
    wanted = {file for stem in stems for file in (f"{stem}-py3-none-any.whl", f"{stem}.tar.gz")}
    if missing := wanted ^ {file.name for file in made.iterdir()}:
        sys.exit(f"release: built or expected alone: {', '.join(sorted(missing))}")


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


@contextlib.contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _environment(conditions: BuildConditions, epoch: str) -> dict[str, str]:
    # An active environment is another project's to uv, and its warning would be all that somebody reads.
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    chosen = {
        "SOURCE_DATE_EPOCH": epoch,
        "TZ": conditions.time_zone,
        "LC_ALL": conditions.locale,
        "PYTHONHASHSEED": conditions.hash_seed,
    }
    return kept | chosen


def _uv(where: Path, environment: dict[str, str], *arguments: str) -> str:
    return _output(["uv", *arguments], where, environment)


def _git(where: Path, *arguments: str) -> str:
    return _output(["git", *arguments], where, None).strip()


def _output(command: list[str], where: Path, environment: dict[str, str] | None) -> str:
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"release: {' '.join(command)}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
