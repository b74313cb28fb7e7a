"""Which rights a principal has, as far as that shows without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from enum import Enum

from eosfw.errors import (
    AbortableError,
    ClusterAuthorizationError,
    FatalError,
    GroupAuthorizationError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
    UnsupportedError,
)
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, Backend, IsolationLevel
from eosfw.records import OffsetRange
from eosfw.runtime.checks.acl_plan import AclBinding, Resource

_REFUSALS = (
    ClusterAuthorizationError,
    GroupAuthorizationError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)
_READ_TIMEOUT = 10.0


class Answer(Enum):
    """What a probe of one operation found."""

    ALLOWED = "allowed"
    MISSING = "missing"
    UNKNOWN = "not probed"


Probed = tuple[Answer, str]
_WRITES = "only a write would show it"
_ABSENT: Probed = Answer.UNKNOWN, "the topic does not exist yet, or may not be described"


class AclProbes:
    """Asks the cluster for one binding at a time; writes, creates, joins and fences nothing."""

    def __init__(self, backend: Backend, admin: Admin) -> None:
        self._backend, self._admin = backend, admin

    def probe(self, binding: AclBinding) -> Mapping[str, Probed]:
        """The answer for each operation of the binding, with the reason of one that was not probed."""
        return {operation: self._probe(binding, operation) for operation in binding.operations}

    def _probe(self, binding: AclBinding, operation: str) -> Probed:
        if binding.prefixed:
            return Answer.UNKNOWN, "the ids of a prefix cannot be listed"
        match binding.resource:
            case Resource.TRANSACTIONAL_ID:
                return self._probe_id(binding.name, operation)
            case Resource.GROUP:
                return self._probe_group(binding.name)
            case Resource.TOPIC:
                return self._probe_topic(binding.name, operation)

    def _probe_id(self, transactional_id: str, operation: str) -> Probed:
        if operation == "Describe":
            return self._asked(lambda: self._describe_id(transactional_id))
        return Answer.UNKNOWN, "only initialising the id would show it, and that fences its holder"

    def _probe_group(self, group_id: str) -> Probed:
        # Not by its offsets, of which a broker shows those of topics that may be described.
        found = self._asked(lambda: self._admin.describe_group(group_id))
        return found if found[0] is Answer.MISSING else (Answer.UNKNOWN, "only joining the group would show it")

    def _probe_topic(self, topic: str, operation: str) -> Probed:
        if operation == "Read":
            return self._asked(lambda: self._read(topic))
        described = self._asked(lambda: _ABSENT if self._describe_topic(topic) is None else None)
        # Whoever may write may describe, so that a refusal tells of both.
        if operation == "Describe" or (operation == "Write" and described[0] is Answer.MISSING):
            return described
        return Answer.UNKNOWN, _WRITES

    def _describe_id(self, transactional_id: str) -> None:
        outcome = self._admin.describe_transactions([transactional_id])[transactional_id]
        if isinstance(outcome, _REFUSALS):
            raise outcome

    def _describe_topic(self, topic: str) -> int | None:
        """The partitions of a topic; None if it is absent. A refusal is raised."""
        count = self._admin.partitions([topic]).get(topic)
        if count is not None:
            self._admin.end_offsets([TopicPartition(topic, 0)], IsolationLevel.READ_COMMITTED)
        return count

    def _read(self, topic: str) -> Probed | None:
        if self._describe_topic(topic) is None:
            return _ABSENT
        where = TopicPartition(topic, 0)
        start = self._admin.log_start_offsets([where])[where]
        end = self._admin.end_offsets([where], IsolationLevel.READ_COMMITTED)[where]
        if start >= end:
            return Answer.UNKNOWN, "partition 0 of the topic is empty"
        with closing(self._backend.reader(IsolationLevel.READ_COMMITTED)) as reader:
            next(iter(reader.read({where: OffsetRange(start, start + 1)}, _READ_TIMEOUT)), None)
        return None

    def _asked(self, question: Callable[[], object]) -> Probed:
        try:
            answer = question()
        except _REFUSALS as refused:
            return Answer.MISSING, str(refused)
        except UnsupportedError as why:
            return Answer.UNKNOWN, str(why)
        except (AbortableError, FatalError) as why:
            return Answer.UNKNOWN, f"the probe failed: {why}"
        return answer if isinstance(answer, tuple) else (Answer.ALLOWED, "")


def probe_all(probes: AclProbes, bindings: Sequence[AclBinding]) -> list[dict[str, str | None]]:
    """One row for each operation of each binding; EosfwError if the cluster does not answer at all."""
    rows = []
    for binding in bindings:
        for operation, (answer, why) in probes.probe(binding).items():
            rows.append(
                {
                    "client": binding.holder.value,
                    "resource": binding.resource.value,
                    "name": binding.name,
                    "operation": operation,
                    "answer": answer.value,
                    "why": why or None,
                }
            )
    return rows
