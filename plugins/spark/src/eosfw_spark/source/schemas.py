"""The look-up of schemas for typed columns, which asks the cluster for topics or for a first record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from eosfw.protocols import Admin, IsolationReader
from eosfw.records import LogBatch
from eosfw_spark.clients import open_backend, open_isolation_reader
from eosfw_spark.formats.resolution import resolve
from eosfw_spark.formats.typed_columns import TypedColumns
from eosfw_spark.source.offset_ranges import topics_to_read
from eosfw_spark.source.options import ReadOptions


def look_up(options: ReadOptions) -> TypedColumns:
    """The schemas of what is read; ConfigError says what is missing, RetriableError who does not answer."""

    def topics() -> Sequence[str]:
        if options.pattern is None:
            return options.topics
        with _asked(options) as (_, admin):
            return topics_to_read(options, admin)

    def first(column: str) -> bytes | None:
        with _asked(options) as (reader, admin):
            return _first(reader, topics_to_read(options, admin), column, options)

    return resolve(options.formats, topics, first)


@contextmanager
def _asked(options: ReadOptions) -> Iterator[tuple[IsolationReader, Admin]]:
    with (
        open_backend(options.backend, options.properties) as backend,
        open_isolation_reader(backend, options.reader, headers=False) as reader,
        closing(backend.admin()) as admin,
    ):
        yield reader, admin


def _first(reader: IsolationReader, topics: Sequence[str], column: str, options: ReadOptions) -> bytes | None:
    """The first key or value that is not null, partition by partition."""
    wanted = None if options.assigned is None else set(options.assigned)
    for partition, offsets in sorted(reader.bounds(topics).items()):
        if offsets.start >= offsets.end or (wanted is not None and partition not in wanted):
            continue
        with closing(reader.read({partition: offsets}, options.stall_timeout)) as found:  # type: ignore[type-var]
            for each in found:
                if isinstance(each, LogBatch):
                    data = each.keys if column == "key" else each.values
                    if (one := next((value for value in data if value is not None), None)) is not None:
                        return one
    return None
