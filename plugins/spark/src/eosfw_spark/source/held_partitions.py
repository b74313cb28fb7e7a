"""The partitions that an open transaction holds back from a query, for its progress and its log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from eosfw.concurrency import Runtime
from eosfw.config.translation import Client
from eosfw.errors import EosfwError, one_line
from eosfw.ids import TopicPartition
from eosfw.protocols import IsolationLevel, OpenTransaction
from eosfw_spark.clients import open_backend, plugins
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.options import ReadOptions

logger = logging.getLogger(__name__)
HELD: Final = "held back"
"""The key of these partitions in the latest offset that the progress of a query shows."""
LOOK_EVERY: Final = 5.0
"""Seconds between two looks: a transaction that commits within them is nothing to tell."""


@dataclass(frozen=True, slots=True)
class HeldPartition:
    """A partition whose last stable offset stays below what is written, and the transaction that keeps it there."""

    offset: int
    high_watermark: int
    holder: OpenTransaction | None
    since: str | None
    """When the transaction began; None if no installed client can describe it."""

    def shown(self, address: str) -> dict[str, Any]:
        """What the progress shows."""
        return {
            "offset": self.offset,
            "high watermark": self.high_watermark,
            "transactional.id": None if self.holder is None else self.holder.transactional_id,
            "since": self.since,
            "freed by": self.command(address),
        }

    def command(self, address: str) -> str:
        """The command that frees the partition, or finds out who holds it."""
        cluster = f"--bootstrap-servers {address}"
        if self.holder is None:
            return f"eosfw txn list --state Ongoing {cluster}, then eosfw txn fence ID"
        if self.holder.transactional_id.startswith("("):  # no coordinator knows the producer any more
            return f"eosfw txn abort {self.holder.partition} {self.holder.first_offset} {cluster}"
        return f"eosfw txn fence {self.holder.transactional_id} {cluster}"

    def sentence(self, partition: TopicPartition, address: str) -> str:
        """The warning."""
        by = "a transaction that no installed client can name"
        if self.holder is not None:
            by = f"transactional id {self.holder.transactional_id!r}, open since {self.since}"
        return (
            f"topic {partition.topic!r}, partition {partition.partition} is held back at offset {self.offset} of "
            f"{self.high_watermark} by {by}; its transaction timeout ends it, or now: {self.command(address)}"
        )


class HeldPartitions:
    """Looks from time to time whether partitions stay behind what is written to them, and who holds them back."""

    def __init__(self, options: ReadOptions, runtime: Runtime, high_watermarks: Callable[[Offsets], Offsets]) -> None:
        self._options = options
        self._runtime = runtime
        self._high_watermarks = high_watermarks
        self._next = runtime.now()
        self._behind: Offsets = {}
        self._held: dict[TopicPartition, HeldPartition] = {}

    def look(self, stable: Offsets, *, at_once: bool = False) -> None:
        """Look if it is time to; `at_once` also counts what has only just fallen behind, since no look follows."""
        committed_only = self._options.reader.name == IsolationLevel.READ_COMMITTED.value
        if not committed_only or (self._runtime.now() < self._next and not at_once):
            return
        self._next = self._runtime.now() + LOOK_EVERY
        try:
            self._update(stable, self._high_watermarks(stable), at_once=at_once)
        except EosfwError as why:  # a query must not end because of what it would tell besides
            logger.warning("cannot tell what holds %s back: %s", self._options.address, one_line(why))

    def report(self, latest: Offsets) -> dict[str, Any]:
        """What the progress shows of the partitions that are still held back."""
        held = {each: one for each, one in sorted(self._held.items()) if latest.get(each) == one.offset}
        address = self._options.address
        return {HELD: {str(each): one.shown(address) for each, one in held.items()}} if held else {}

    def _update(self, stable: Offsets, high: Offsets, *, at_once: bool) -> None:
        behind = {each: offset for each, offset in stable.items() if high[each] > offset}
        lasting = [each for each, offset in behind.items() if at_once or self._behind.get(each) == offset]
        self._behind = behind
        known = {each: one for each, one in self._held.items() if each in lasting and one.offset == behind[each]}
        self._held = known
        for each, holder in self._holders([each for each in lasting if each not in known]).items():
            began = None if holder is None else time.gmtime(self._runtime.wall() - holder.age)
            since = None if began is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", began)
            held = HeldPartition(behind[each], high[each], holder, since)
            self._held[each] = held
            logger.warning("%s", held.sentence(each, self._options.address))

    def _holders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, OpenTransaction | None]:
        """The transaction of each partition that began first."""
        name = self._describing_backend() if partitions else None
        if name is None:
            return dict.fromkeys(partitions)
        with open_backend(name, self._options.properties) as backend, closing(backend.admin()) as admin:
            found = admin.open_transactions(partitions)
        first = {one.partition: one for one in sorted(found, key=lambda one: -one.first_offset)}
        return {each: first.get(each) for each in partitions}

    def _describing_backend(self) -> str | None:
        """The query's own backend, or another one for the same cluster, that can describe transactions."""
        names = dict.fromkeys((self._options.backend, *plugins().names("backend")))
        kinds = {name: plugins().backend(name) for name in names}
        able = (name for name, kind in kinds.items() if not kind.capabilities.lacking("describe_transactions"))
        return next((name for name in able if not kinds[name].problems(self._options.properties, Client.ADMIN)), None)
