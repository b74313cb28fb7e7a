"""Delete topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from eosfw.error_table import ADMIN, RETRIABLE
from eosfw.errors import EosfwError
from eosfw.retry_timer import RetryTimer
from eosfw_memory.client.metadata import ClusterMetadata
from eosfw_memory.client.transport.apis import DELETE_TOPICS, Fields, milliseconds
from eosfw_memory.client.transport.errors import error_for
from eosfw_memory.common.codes import Code


def delete_topics(
    metadata: ClusterMetadata, topics: Collection[str], timer: RetryTimer
) -> Mapping[str, EosfwError | None]:
    """The outcome for each topic. After a lost answer a repeated request may not know a topic it has just deleted."""
    outcomes: dict[str, EosfwError | None] = {}
    while left := [name for name in dict.fromkeys(topics) if name not in outcomes]:
        request = Fields(topic_names=tuple(left), timeout=milliseconds(timer.remaining()))
        answer: Any = metadata.ask(DELETE_TOPICS, request, timer)
        again = False
        for each in answer["responses"]:
            name, code = each["name"], each["error_code"]
            what = f"delete topic {name!r} at {metadata.network.servers}"
            why = None if code == Code.NONE else error_for(code, ADMIN, what, each.get("error_message"))
            if code in RETRIABLE and code != Code.UNKNOWN_TOPIC_OR_PARTITION and timer.remaining() > 0:
                again = True
                continue
            metadata.forget(name)
            outcomes[name] = why
        if again:
            timer.backoff()
    return outcomes
