"""Delete topics and consumer groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from typing import Final

from kafka import errors as kafka_errors
from kafka.protocol.admin import DeleteGroupsRequest, DeleteTopicsRequest
from kafka.protocol.metadata import CoordinatorType

from eosfw.error_table import RETRIABLE
from eosfw.errors import EosfwError
from eosfw.kafka_codes import Code
from eosfw_kafka_python.broker_lookup import BrokerLookup
from eosfw_kafka_python.errors import ADMIN, eosfw_error, translated_errors

_BY_NAME: Final = 5
"""The last version of DeleteTopics that names topics without ids."""
_PAUSE: Final = 0.02


class Deletion:
    """Deletes until a deadline."""

    def __init__(self, brokers: BrokerLookup, deadline: float) -> None:
        self._brokers, self._deadline = brokers, deadline

    def topics(self, topics: Collection[str]) -> Mapping[str, EosfwError | None]:
        """The outcome for each topic; a request whose answer was lost is repeated and may find the topic unknown."""
        found: dict[str, EosfwError | None] = {}
        runtime = self._brokers.runtime
        while left := [name for name in dict.fromkeys(topics) if name not in found]:
            with translated_errors(ADMIN, self._what(f"delete topics {', '.join(left)}")):
                answer = self._brokers.connection.send_request(partial(self._request, left), self._deadline)
            late = runtime.now() + _PAUSE >= self._deadline
            for each in answer.responses:
                passing = each.error_code in RETRIABLE and each.error_code != Code.UNKNOWN_TOPIC_OR_PARTITION
                if late or not passing:
                    found[each.name] = self._outcome(each.error_code, each.name)
            if any(name not in found for name in left):
                runtime.sleep(_PAUSE)
        return found

    def group(self, group_id: str) -> None:
        """Delete one group."""
        what = self._what(f"delete group {group_id!r}")
        with translated_errors(ADMIN, what):
            self._brokers.send_to_coordinator(
                lambda: DeleteGroupsRequest(groups_names=[group_id]),
                (group_id, CoordinatorType.GROUP),
                self._deadline,
                (ADMIN, lambda answer: int(answer.results[0].error_code), what),
            )

    def _request(self, names: list[str]) -> DeleteTopicsRequest:
        left = max(1, round((self._deadline - self._brokers.runtime.now()) * 1000))
        return DeleteTopicsRequest(topic_names=names, timeout_ms=left, max_version=_BY_NAME)

    def _outcome(self, code: int, name: str) -> EosfwError | None:
        if code == Code.NONE:
            return None
        return eosfw_error(kafka_errors.for_code(code)(), ADMIN, self._what(f"delete topic {name!r}"))

    def _what(self, what: str) -> str:
        return f"{what} at {self._brokers.connection.servers}"
