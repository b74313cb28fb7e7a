"""Run programs of Apache Kafka's own distribution."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from real_kafka import QUICK, java_command

ARTIFACTS = ("kafka_2.13", "kafka-tools", "connect-runtime", "connect-file", "connect-json")
SMALL = ("-Xmx256m", *QUICK)
"""Most of what these programs do is to start."""
DATED = ("-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS")
"""When something stalls, its log must tell since when."""
WITHIN = 60.0

_TOOLS = "org.apache.kafka.tools"
PROGRAMS: Mapping[str, str] = {
    "connect-distributed": "org.apache.kafka.connect.cli.ConnectDistributed",
    "kafka-broker-api-versions": f"{_TOOLS}.BrokerApiVersionsCommand",
    "kafka-cluster": f"{_TOOLS}.ClusterTool",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": f"{_TOOLS}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{_TOOLS}.ConsoleProducer",
    "kafka-consumer-groups": f"{_TOOLS}.consumer.group.ConsumerGroupCommand",
    "kafka-consumer-perf-test": f"{_TOOLS}.ConsumerPerformance",
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-features": f"{_TOOLS}.FeatureCommand",
    "kafka-get-offsets": f"{_TOOLS}.GetOffsetShell",
    "kafka-log-dirs": f"{_TOOLS}.LogDirsCommand",
    "kafka-producer-perf-test": f"{_TOOLS}.ProducerPerformance",
    "kafka-topics": f"{_TOOLS}.TopicCommand",
    "kafka-transactions": f"{_TOOLS}.TransactionsCommand",
    "transactional-message-copier": f"{_TOOLS}.TransactionalMessageCopier",
}
"""The class behind each script in Kafka's `bin`, by the script's name."""


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a program that ended."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Its answer without empty lines."""
        return [line.strip() for line in self.out.splitlines() if line.strip()]


class Program:
    """A program that runs until it ends, or is ended; nothing of it is left behind."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        # A test run that is killed must not leave it behind.
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*tied, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()

    def running(self) -> bool:
        return self._process.poll() is None

    def failed(self) -> bool:
        """Whether it ended by itself with an error."""
        return self._process.poll() not in (None, 0)

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def end(self, within: float = WITHIN) -> int:
        """Ask it to end (SIGTERM), wait until it has; its status."""
        self._signal(signal.SIGTERM)
        return self.wait(within)

    def kill(self) -> None:
        """End it without a chance to tidy up (SIGKILL)."""
        self._signal(signal.SIGKILL)
        self._process.wait(WITHIN)

    def freeze(self) -> None:
        """Stop it where it stands (SIGSTOP), as a long pause would."""
        self._signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def wait(self, within: float = WITHIN) -> int:
        return self._process.wait(within)

    def _signal(self, number: signal.Signals) -> None:
        if self.running():
            os.killpg(self._process.pid, number)


class Java:
    """Programs of Kafka's distribution, by the names of their scripts; `RealKafkaUnavailableError` without Java."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        java, *rest = java_command(ARTIFACTS)
        self._command = [java, *SMALL, *DATED, *rest]

    def command(self, name: str, *arguments: object) -> list[str]:
        """The whole command line of a program."""
        return [*self._command, PROGRAMS[name], *map(str, arguments)]

    def run(self, name: str, *arguments: object, stdin: str = "", within: float = WITHIN) -> Output:
        """Run a program to its end; one that takes longer is killed, and fails the test with what it had said."""
        with subprocess.Popen(
            self.command(name, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(stdin, within)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                raise AssertionError(f"{name} did not end in {within:g} s; it said:\n{out}{err}") from None
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return Output(process.returncode, out, err)

    def start(self, name: str, *arguments: object) -> Program:
        """Start a program that goes on; what it says is in its log."""
        number = len(list(self._folder.iterdir()))
        return Program(self.command(name, *arguments), self._folder / f"{number:02}-{name}.log")
