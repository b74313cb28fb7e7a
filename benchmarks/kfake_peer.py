"""Measure the memory client in the broker's process beside confluent-kafka over kfake (goals 5 and 6).

kfake is franz-go's fake Kafka, built here with Go from `kfake/` unless `--peer` names the program. Both take turns,
round by round; the ratios are those of the rounds. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmark import run_main, scaled, show
from contenders import started
from memory_client import RUNTIME, Way, one_record_us, records_per_second, ways

from eosfw_confluent.backend import ConfluentBackend
from eosfw_memory.cluster import EmbeddedCluster

SOURCE = Path(__file__).parent / "kfake"
GOALS = {"records_per_second": "at least 2", "one_record_us": "at most 0.1"}
MEASURES: dict[str, Callable[[Way], float]] = {
    "records_per_second": lambda way: records_per_second(way, scaled(300_000, least=1000)),
    "one_record_us": lambda way: one_record_us(way, scaled(300)),
}


def built(folder: Path) -> Path:
    """The program, compiled; `-mod=mod` has Go write the checksums of what it fetched beside `go.mod`."""
    program = folder / "kfake-peer"
    subprocess.run(["go", "build", "-mod=mod", "-o", str(program), "."], cwd=SOURCE, check=True)
    return program


@contextmanager
def kfake(program: Path) -> Iterator[Way]:
    """A client of a kfake that runs as a child process."""
    with started("kfake", str(program)) as peer:
        backend = ConfluentBackend.connect({"bootstrap.servers": peer.address()}, RUNTIME)
        try:
            yield Way(backend)
        finally:
            backend.close()


@contextmanager
def embedded() -> Iterator[Way]:
    """A client that calls the embedded broker directly."""
    cluster = EmbeddedCluster.start({}, RUNTIME)
    every = ways(cluster.bootstrap_servers)
    try:
        yield every["direct"]
    finally:
        for way in every.values():
            way.backend.close()
        cluster.close()


def compare(program: Path, rounds: int) -> dict[str, dict[str, object]]:
    """Medians over the rounds, after one that warms up; fresh clusters each round, so that memory does not grow."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in MEASURES}
    for number in range(rounds + 1):
        with embedded() as ours, kfake(program) as theirs:
            for name, measure in MEASURES.items():
                pair = measure(ours), measure(theirs)
                if number:
                    found[name].append(pair)
    return {name: _summary(name, pairs) for name, pairs in found.items()}


def _summary(name: str, pairs: list[tuple[float, float]]) -> dict[str, object]:
    ours, theirs = zip(*pairs, strict=True)
    best = max if name == "records_per_second" else min
    return {
        "embedded": round(statistics.median(ours), 1),
        "embedded_best": round(best(ours), 1),
        "kfake": round(statistics.median(theirs), 1),
        "kfake_best": round(best(theirs), 1),
        "ratio": round(statistics.median(mine / other for mine, other in pairs), 4),
        "goal": GOALS[name],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, help="a kfake that was built before")
    parser.add_argument("--rounds", type=int, default=scaled(7))
    asked = parser.parse_args()
    with ExitStack() as stack:
        program = asked.peer or built(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        result = compare(program, asked.rounds)
    show(result)


if __name__ == "__main__":
    run_main(main)
