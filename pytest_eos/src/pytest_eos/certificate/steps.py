"""Steps and ends in plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw.observe import LEADER, MICRO_BATCH, STARTUP, TRANSACTION, TaskStep
from pytest_eos.certificate.evidence import FENCED, HAPPENED, KILLED, STOPPED

WORDS: Final[Mapping[str, str]] = {
    TaskStep.REQUEST_FENCING.value: "before it asks the leader to shut out the tasks that it replaces",
    TaskStep.CHECK_TASK_COUNT.value: "before it checks that those were shut out",
    TaskStep.CHECK_OFFSETS_TOPIC.value: "before it looks for the topic with source offsets",
    TaskStep.INIT_PRODUCER.value: "before its producer takes over the transactional id",
    TaskStep.READ_CONFIG.value: "before it reads the configuration to its end",
    TaskStep.CHECK_OWNERSHIP.value: "before it checks that nobody has replaced it",
    TaskStep.READ_OFFSETS.value: "before it reads the committed source offsets",
    TaskStep.START_TASK.value: "before the connector's task starts",
    TaskStep.POLL.value: "before it asks the source for records",
    TaskStep.BEGIN.value: "before it begins a transaction",
    TaskStep.SEND.value: "before it sends records",
    TaskStep.SEND_OFFSETS.value: "with records sent, before it sends their source offsets",
    TaskStep.COMMIT.value: "with records and offsets sent, before it commits them",
    TaskStep.PUBLISH_ASSIGNMENT.value: "before it tells the group who runs what",
    TaskStep.CLAIM_LEADERSHIP.value: "before it claims leadership",
    TaskStep.WRITE_TASK_CONFIGS.value: "before it writes the configuration of tasks",
    TaskStep.FENCE_ZOMBIES.value: "before it shuts out the old tasks",
    TaskStep.CHECK_GENERATION.value: "before it checks that no newer tasks are configured",
    TaskStep.WRITE_TASK_COUNT.value: "before it records that the old tasks are shut out",
    TaskStep.PLAN_BATCH.value: "before the driver plans a batch",
    TaskStep.READ_BATCH.value: "before it reads a batch",
    TaskStep.WRITE_BATCH.value: "before it writes its part of a batch",
    TaskStep.STAGED_BATCH.value: "after it has staged its part of a batch",
    TaskStep.FENCE_BATCH.value: "before it shuts out earlier drivers",
    TaskStep.READ_TOKEN.value: "before it reads which batch was committed last",
    TaskStep.PUBLISH_BATCH.value: "before it publishes a batch",
    TaskStep.COMMIT_BATCH.value: "before it commits a batch",
    TaskStep.COMMITTED_BATCH.value: "after it has committed a batch",
}
"""What is about to happen at each step, after the name of the step."""
ORDER: Final = tuple(step.value for step in (*STARTUP, *TRANSACTION, *LEADER, *MICRO_BATCH))
OF_TASKS: Final = tuple(step.value for step in (*STARTUP, *TRANSACTION))

ENDS: Final[Mapping[str, str]] = {
    FENCED: "woke up, tried to go on, and was refused by the cluster (fenced)",
    STOPPED: "woke up, found that it had been replaced, and stopped before it wrote",
    KILLED: "was ended in the middle; what it had not committed was aborted, and a successor went on",
    HAPPENED: "happened; the clients went on",
}
"""How an attempt ended."""
