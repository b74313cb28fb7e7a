"""What the writers of the sink publish to, without Spark: a topic, the tokens, the announced steps."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewPartitions

from eosfw.observe import TaskStep
from eosfw.protocols import NewTopic
from eosfw_spark.sink.tokens.token_log import TokenLog
from eosfw_spark.sink.tokens.token_producer import StepAnnouncer, TokenCluster
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness


class Killed(BaseException):
    """Ends a writer as SIGKILL does: nothing of it runs any more."""


def dying_at(wanted: TaskStep) -> StepAnnouncer:
    """Have a writer stop at a step, and never go on."""

    def announce(step: TaskStep, /, **detail: object) -> None:
        if step is wanted:
            raise Killed

    return announce


class SinkHarness:
    """One query, whose writers publish to one topic."""

    def __init__(self, lab: BackendHarness) -> None:
        self.lab = lab
        self.topic = lab.topic(2)
        self.tokens = TokenLog(lab.backend, f"{lab.name()}-tokens", stall_timeout=WAIT)
        self.timeout, self.api_timeout = 60.0, WAIT
        self.steps: list[TaskStep] = []

    def cluster(self) -> TokenCluster:
        return TokenCluster(self.lab.backend, self.tokens, self.timeout, self.api_timeout)

    def announce(self, step: TaskStep, /, **detail: object) -> None:
        self.steps.append(step)

    def published(self) -> list[bytes | None]:
        return sorted(self.lab.values(self.topic), key=str)

    # --- what becomes of the topic meanwhile

    def add_partition(self, servers: str) -> None:
        count = self._partitions() + 1
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_partitions([NewPartitions(self.topic, count)])[self.topic].result(WAIT)
        self.lab.until(self._partitions, lambda found: found == count)

    def create_topic_again(self) -> None:
        count = self._partitions()
        self.lab.admin.delete_topics([self.topic])
        self.lab.until(self.lab.admin.partitions, lambda found: self.topic not in found)
        self.lab.admin.create_topics([NewTopic(self.topic, count)])

    def _partitions(self) -> int:
        return self.lab.admin.partitions([self.topic])[self.topic]
