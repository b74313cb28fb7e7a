"""Fuzz with Atheris for as long as you like: `python -m tests.fuzz.run --seconds 600 [TARGET ...]`.

Writes a JSON object for each target to stdout. The input that failed is written beside the samples, so that the tests
try it from then on; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.targets import CORPUS, TARGETS, Target, corpus

_INPUTS = re.compile(r"^stat::number_of_executed_units: +(\d+)", re.MULTILINE)
_OPTIONS = ("-print_final_stats=1", "-timeout=60", "-rss_limit_mb=3072", "-verbosity=1")
"""A minute for one input is a hang; more memory is asked for by bytes that declare more than they hold."""


def main() -> int:
    """Fuzz one target after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=30, help="for each target")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="another one each time unless given")
    given = parser.parse_args()
    failed = [name for name in given.targets or TARGETS if not _passes(TARGETS[name], given.seconds, given.seed)]
    return int(bool(failed))


def _passes(target: Target, seconds: int, seed: int) -> bool:
    """Run the engine in a process of its own, which ends with the first failure."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.fuzz.engine", target.name, *_prepared(target, Path(folder))]
        command += [*_OPTIONS, f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={target.limit}"]
        done = subprocess.run(command, capture_output=True, text=True, errors="backslashreplace", check=False)
        kept = [_keep(target, path.read_bytes()) for path in sorted((Path(folder) / "failed").iterdir())]
    inputs = sum(map(int, _INPUTS.findall(done.stderr)))
    report = {"target": target.name, "seconds": seconds, "seed": seed, "inputs": inputs, "failures": kept}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    if done.returncode:
        sys.stderr.write(f"{target.name}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}\n")
    return not done.returncode


def _prepared(target: Target, folder: Path) -> list[str]:
    """Write the corpus and the dictionary; return the arguments that name them."""
    for name in ("found", "samples", "failed"):
        (folder / name).mkdir()
    for number, data in enumerate(corpus(target.name)):
        (folder / "samples" / str(number)).write_bytes(data)
    words = "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in target.words if word)
    (folder / "words").write_text(words)
    dictionary = [f"-dict={folder / 'words'}"] if words else []
    return [str(folder / "found"), str(folder / "samples"), f"-artifact_prefix={folder / 'failed'}/", *dictionary]


def _keep(target: Target, data: bytes) -> str:
    """Add an input to the samples; return its name."""
    path = CORPUS / target.name / f"failed-{hashlib.sha256(data).hexdigest()[:12]}.bin"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return path.name


if __name__ == "__main__":
    sys.exit(main())
