"""The batches of a run's topics as the broker stores them: producers, sequence numbers, control records."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, Final

from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw.test_support import LogInspection, StoredBatch
from pytest_eos.environment.config.installed_plugins import installed_plugins
from pytest_eos.runs.run import Ranges, Topic

_LOG: Final = "log"
_ENDS: Final = ("commit", "abort")


class StoredLog:
    """The headers of all batches of some topics.

    The client of the backend `memory` reads them: those of other backends keep them to themselves. It has nothing where
    that client cannot connect with the properties of the cluster.
    """

    def __init__(self, run: Topic, ranges: Ranges) -> None:
        self._batches = _read(run, ranges)
        self._firsts = {one: [each.first_offset for each in batches] for one, batches in self._batches.items()}

    def producer_at(self, partition: TopicPartition, offset: int) -> dict[str, Any]:
        """Producer id, epoch and sequence number of a record in a transaction, as fields of an operation."""
        index = bisect_right(self._firsts.get(partition, ()), offset) - 1
        if index < 0:
            return {}
        batch = self._batches[partition][index]
        if not batch.transactional:
            return {}
        return {"pid": batch.producer_id, "epoch": batch.epoch, "seq": batch.sequence_of(offset)}

    def records(self, partition: TopicPartition) -> int | None:
        """How many records a partition holds, control records left out; None if that is not known."""
        batches = self._batches.get(partition)
        if batches is None:
            return None
        return sum(each.last_offset - each.first_offset + 1 for each in batches if not each.control)

    def markers(self, partitions: Iterable[TopicPartition]) -> Iterator[dict[str, Any]]:
        """The control records that end transactions, as fields of operations."""
        for topic, number in partitions:
            for each in self._batches.get(TopicPartition(topic, number), ()):
                if each.control in _ENDS:
                    yield {
                        "proc": _LOG,
                        "op": "marker",
                        "type": "ok",
                        "part": f"{topic}-{number}",
                        "off": each.first_offset,
                        "pid": each.producer_id,
                        "epoch": each.epoch,
                        "control": each.control,
                    }


def _read(run: Topic, ranges: Ranges) -> dict[TopicPartition, list[StoredBatch]]:
    eos = run.eos
    own: object = eos.backend
    if isinstance(own, LogInspection):
        return _batches(own, ranges, eos.settings.patience)
    try:
        connected = installed_plugins().backend("memory").connect(eos.cluster.client, eos.runtime)
    except ConfigError:
        return {}
    with closing(connected) as backend:
        if not isinstance(backend, LogInspection):
            return {}
        return _batches(backend, ranges, eos.settings.patience)


def _batches(backend: LogInspection, ranges: Ranges, patience: float) -> dict[TopicPartition, list[StoredBatch]]:
    return {
        one: list(backend.stored_batches(one, wanted.start, wanted.end, patience)) for one, wanted in ranges.items()
    }
