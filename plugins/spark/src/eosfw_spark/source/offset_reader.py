"""What a cluster says of a query's topics beside its driver: offsets (Spark's `KafkaOffsetReader`) and few records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, nullcontext, suppress
from typing import NamedTuple, TypeVar

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError, RetriableError, UnknownTopicOrPartitionError
from eosfw.ids import TopicPartition
from eosfw.protocols import Admin, IsolationLevel, IsolationReader
from eosfw.records import LogBatch, OffsetRange
from eosfw.registry import parts
from eosfw.retry_timer import RetryTimer
from eosfw_spark.clients import open_backend, plugins
from eosfw_spark.source.admission_control import all_within, end_within
from eosfw_spark.source.data_loss import TopicIds
from eosfw_spark.source.offset_range_limit import Offsets
from eosfw_spark.source.offset_ranges import Ranges, Split, partitions_to_read, starting_offsets, topics_to_read
from eosfw_spark.source.options import ReadOptions
from eosfw_spark.source.split_reader import SplitReader

T = TypeVar("T")
_LONGEST_PAUSE = 1.0


class _Clients(NamedTuple):
    reader: IsolationReader
    admin: Admin


class OffsetReader:
    """Keeps its clients on the driver as long as the query runs, and asks again while no broker answers."""

    def __init__(self, options: ReadOptions, runtime: Runtime) -> None:
        self._options = options
        self._runtime = runtime
        self._open = ExitStack()
        self._clients: _Clients | None = None

    def bounds(self) -> Ranges:
        """From the log start to the end that is visible now, of each partition that exists of those to read."""
        return self.bounds_and_ids()[0]

    def bounds_and_ids(self) -> tuple[Ranges, TopicIds]:
        """The bounds, and the ids that the topics had before: of one that is created again meanwhile, the old one."""

        def ask(clients: _Clients) -> tuple[Ranges, TopicIds]:
            topics = topics_to_read(self._options, clients.admin)
            ids = clients.admin.topic_ids(topics)
            return clients.reader.bounds(topics), ids

        # A topic may be deleted between two of these requests: then all of them are asked again.
        found, ids = self._ask(ask, UnknownTopicOrPartitionError)
        chosen = self._options.assigned
        return (found if chosen is None else {each: found[each] for each in chosen if each in found}), ids

    def starting_offsets(self) -> Offsets:
        """Where a new query begins."""
        options, bounds = self._options, self.bounds()
        among = {each: bounds[each] for each in partitions_to_read(options, bounds)}
        return self._ask(
            lambda clients: starting_offsets(
                options.start, among, lambda times: clients.admin.offsets_for_times(times, options.isolation)
            )
        )

    def high_watermarks(self, partitions: Offsets, *, once: bool = False) -> Offsets:
        """The ends of all that was written to these partitions, committed or not; `once` it is not asked again."""
        return self._ask(
            lambda clients: clients.admin.end_offsets(list(partitions), IsolationLevel.READ_UNCOMMITTED), once=once
        )

    def end_within(self, partition: TopicPartition, offsets: OffsetRange, max_bytes: int) -> int:
        """The offset up to which the visible records of a range fit into so many bytes; they are read for it."""
        return self._read([Split(partition, offsets)], lambda batches: end_within(batches, offsets, max_bytes))

    def records(self, splits: Sequence[Split], max_bytes: int) -> list[LogBatch] | None:
        """The visible records of splits of different partitions, one partition after the other; None if too large."""
        found = self._read(splits, lambda batches: all_within(batches, max_bytes))
        return None if found is None else sorted(found, key=lambda each: (each.topic, each.partition))

    def _read(self, splits: Sequence[Split], use: Callable[[Iterator[LogBatch]], T]) -> T:
        options = self._options

        def read(clients: _Clients) -> T:
            fail = options.fail_on_data_loss
            shown = SplitReader(clients.reader.read, lambda: nullcontext(clients.admin), fail_on_data_loss=fail)
            with closing(shown.read(splits, options.stall_timeout)) as batches:
                return use(batches)

        return self._ask(read)

    def close(self) -> None:
        """Close the clients; the next call opens new ones."""
        self._clients = None
        with suppress(EosfwError):
            self._open.close()

    def _ask(self, ask: Callable[[_Clients], T], *also: type[EosfwError], once: bool = False) -> T:
        """Ask until the timeout, with new clients after each failure: a broker that comes back may be another one."""
        deadline = self._runtime.now() + self._options.stall_timeout
        timer = RetryTimer(self._runtime, deadline, pause=0.05, longest=_LONGEST_PAUSE)
        while True:
            try:
                return ask(self._connected())
            except BaseException as why:
                self.close()
                if once or not isinstance(why, (RetriableError, *also)) or not timer.backoff():
                    raise

    def _connected(self) -> _Clients:
        if self._clients is None:
            options = self._options
            backend = self._open.enter_context(open_backend(options.backend, options.properties))
            reader = parts.isolation_reader(plugins(), options.reader, backend, self._runtime, headers=options.headers)
            self._open.enter_context(closing(reader))
            self._clients = _Clients(reader, self._open.enter_context(closing(backend.admin())))
        return self._clients
