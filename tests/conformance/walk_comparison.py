"""Send random walks through the embedded broker and a real Kafka: `python -m conformance.walk_comparison` in `tests/`.

Both versions of transactions in turn, each with a broker of its own. Says where two walks part, and how many went.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.cluster import EmbeddedCluster
from real_kafka import KAFKA_VERSION, SETTINGS, RealKafka

from .calls import Caller
from .sequences import Walk

STEPS = 60
SWEEP = "transaction.abort.timed.out.transaction.cleanup.interval.ms"


def parted(callers: Sequence[Caller], seed: int, steps: int = STEPS) -> str | None:
    """The first difference of a walk between two brokers, with the steps before it, or None."""
    ours, kafkas = [Walk(caller, seed) for caller in callers]
    previous_steps: list[str] = []
    for number in range(steps):
        (our,), (their,) = ours.steps(1), kafkas.steps(1)
        if our != their:
            return "\n".join([f"seed {seed}, step {number}:", *previous_steps, f"ours   {our}", f"Kafka's {their}"])
        previous_steps.append(our)
    seen, expected = ours.seen(), kafkas.seen()
    if seen == expected:
        return None
    return "\n".join([f"seed {seed}, at its end:", *previous_steps, f"ours   {seen}", f"Kafka's {expected}"])


def compare(version: int, seeds: Sequence[int], steps: int) -> int:
    """Walk on two brokers of a version of transactions; give how many walks parted."""
    properties = {SWEEP: SETTINGS[SWEEP], "transaction.version": str(version)}
    embedded = EmbeddedCluster.start(properties, ThreadRuntime())
    node = RealKafka.start(features={"transaction.version": version})
    callers = [Caller(embedded.bootstrap_servers), Caller(node.bootstrap_servers)]
    count = 0
    try:
        for seed in seeds:
            difference = parted(callers, seed, steps)
            if difference is not None:
                count += 1
                sys.stdout.write(f"transaction.version {version}, {difference}\n\n")
                sys.stdout.flush()
    finally:
        for caller in callers:
            caller.close()
        embedded.close()
        node.stop()
    return count


def main() -> int:
    """Compare; the exit code is 1 when any walk parted."""
    message = argparse.ArgumentParser(description=__doc__)
    message.add_argument("--walks", type=int, default=200, help="of each version of transactions")
    message.add_argument("--steps", type=int, default=STEPS)
    message.add_argument("--first", type=int, default=0, help="the first seed")
    message.add_argument("--versions", type=int, nargs="+", default=[2, 1])
    options = message.parse_args()
    seeds = range(options.first, options.first + options.walks)
    counts = {version: compare(version, seeds, options.steps) for version in options.versions}
    for version, count in counts.items():
        answered = f"{options.walks} walks of {options.steps} steps, {count} parted"
        sys.stdout.write(f"Kafka {KAFKA_VERSION}, transaction.version {version}: {answered}\n")
    return 1 if any(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
