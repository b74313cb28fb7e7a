"""Run the README's test command again and again, each time in a fresh clone of HEAD, and list what failed.

So many runs on processors that do nothing else (`--idle`), beside a busy loop on each (`--busy`), and with the tests
in random order (`--random`). What each run says is kept in `--logs`; its row and the table at the end go to stderr,
the figures to stdout. Exit code 1 unless all are green.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmark import SCALE, run_main, scaled, show

COMMAND = "pip install --quiet uv && uv run tox"
"""As the README has it."""
SMALL = f"{COMMAND} -e core"
"""A thousandth of its size."""
COUNTS = {"idle": 8, "busy": 6, "random": 6}
FOREIGN = ("BENCHMARK_", "COV_", "EOS_", "PYTEST_", "PYTHON", "TOX_", "UV_PROJECT", "VIRTUAL_ENV")
"""Variables of whoever runs this script, which somebody who has just cloned the repository does not have."""
_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - |$)", re.MULTILINE)
_ENVIRONMENT = re.compile(r"^  (\S+): FAIL", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Plan:
    """One run: what goes on beside it, and the seed of its order."""

    number: int
    kind: str

    @property
    def variables(self) -> Mapping[str, str]:
        order = f"--random-order --random-order-seed={self.number}"
        return {"EOS_TEST_ORDER": order} if self.kind == "random" else {}


@dataclass(frozen=True, slots=True)
class Run:
    """What a run came to; `failed` has ids of tests, or of environments in which no test was named."""

    number: int
    kind: str
    seconds: int
    status: int
    failed: Sequence[str] = field(default_factory=tuple)

    def row(self) -> str:
        ended = "green" if self.status == 0 else f"status {self.status}: {', '.join(self.failed) or 'see its log'}"
        return f"| {self.number} | {self.kind} | {self.seconds} s | {ended} |"


def main() -> int:
    arguments = parsed()
    logs = Path(arguments.logs or tempfile.mkdtemp(prefix="test-command-"))
    logs.mkdir(parents=True, exist_ok=True)
    runs = []
    for plan in plans(arguments):
        runs.append(run := ran(plan, arguments.tree, logs / f"{plan.number:02}-{plan.kind}.log"))
        print(run.row(), file=sys.stderr, flush=True)
    print("\n".join(table(runs)), file=sys.stderr)
    green = sum(run.status == 0 for run in runs)
    show({"runs": [asdict(run) for run in runs], "green": green, "logs": str(logs)})
    return 0 if green == len(runs) else 1


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, count in COUNTS.items():
        parser.add_argument(f"--{kind}", type=int, default=scaled(count), metavar="RUNS")
    parser.add_argument("--tree", type=Path, default=Path(__file__).parents[1], help="the checkout to clone")
    parser.add_argument("--logs", type=Path, help="where to keep what the runs say (default: a temporary folder)")
    return parser.parse_args()


def plans(arguments: argparse.Namespace) -> list[Plan]:
    kinds = [kind for kind in COUNTS for _ in range(getattr(arguments, kind))]
    return [Plan(number, kind) for number, kind in enumerate(kinds, 1)]


def ran(plan: Plan, tree: Path, log: Path) -> Run:
    """Clone, make an environment as the README says, type the command."""
    with tempfile.TemporaryDirectory(prefix="clone-") as folder, ExitStack() as beside:
        subprocess.run(["git", "clone", "--quiet", tree, folder], check=True)
        subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, env=own_variables(), check=True)
        if plan.kind == "busy":
            beside.enter_context(busy_processors())
        began = time.perf_counter()
        status = typed(folder, {**own_variables(), **plan.variables}, log)
        seconds = round(time.perf_counter() - began)
    return Run(plan.number, plan.kind, seconds, status, failures(log.read_text(errors="replace")))


def own_variables() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}


def typed(folder: str, variables: Mapping[str, str], log: Path) -> int:
    command = f". .venv/bin/activate && {COMMAND if SCALE == 1 else SMALL}"
    with log.open("wb") as output:
        words = ["bash", "-c", command]
        return subprocess.run(
            words, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False
        ).returncode


@contextmanager
def busy_processors() -> Iterator[None]:
    """A loop on each processor that this process may use."""
    count = len(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def failures(output: str) -> Sequence[str]:
    """The ids of tests that pytest's summaries name, or else the environments that tox says failed."""
    return tuple(dict.fromkeys(_TEST.findall(output))) or tuple(_ENVIRONMENT.findall(output))


def table(runs: Sequence[Run]) -> Iterator[str]:
    """By kind: runs, green ones, their times; then what failed, how often."""
    yield from ("", "| kind | runs | green | shortest | longest |", "|---|---|---|---|---|")
    for kind in COUNTS:
        some = [run for run in runs if run.kind == kind]
        if some:
            green, seconds = sum(run.status == 0 for run in some), [run.seconds for run in some]
            yield f"| {kind} | {len(some)} | {green} | {min(seconds)} s | {max(seconds)} s |"
    for test, times in Counter(test for run in runs for test in run.failed).most_common():
        yield f"failed {times}x: {test}"


if __name__ == "__main__":
    run_main(main)
