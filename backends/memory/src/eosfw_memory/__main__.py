"""Run the embedded broker as a process: `python -m eosfw_memory --listen 127.0.0.1:0`."""

from __future__ import annotations

import argparse
import signal
import sys
from types import FrameType

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import EosfwError
from eosfw_memory.cluster import EmbeddedCluster


def main() -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m eosfw_memory", description="Kafka-compatible broker in memory")
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help="port 0 takes a free one")
    parser.add_argument("--advertised", metavar="HOST:PORT", help="where clients find it, if not on this machine")
    parser.add_argument("properties", nargs="*", metavar="NAME=VALUE", help="broker properties by Kafka's names")
    arguments = parser.parse_args()
    properties = dict(text.split("=", 1) for text in arguments.properties if "=" in text)
    properties["listeners"] = arguments.listen or "PLAINTEXT://"  # nowhere would be no use to anybody: say so
    if arguments.advertised:
        properties["advertised.listeners"] = arguments.advertised
    runtime = ThreadRuntime()
    stop = runtime.event()

    def on_signal(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    try:
        cluster = EmbeddedCluster.start(properties, runtime)
    except EosfwError as wrong:
        sys.stderr.write(f"{wrong}\n")
        return int(wrong.exit_code)
    sys.stdout.write(f"listening on {cluster.bootstrap_servers}\n")
    sys.stdout.flush()
    stop.wait()
    cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
