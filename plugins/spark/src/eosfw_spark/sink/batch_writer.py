"""The writer of a DataFrame in mode `atomic` (Spark's `KafkaBatchWrite`)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from eosfw.errors import ConfigError, Problem
from eosfw_spark.executor_packages import reduce_with_import
from eosfw_spark.micro_batch import MicroBatch
from eosfw_spark.sink.atomic_write import COMMITTERS, AtomicWrite, Numbered
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.token_producer import TokenIdentity
from eosfw_spark.sink.tokens import BatchContent, Token, TokenDecision, decide_write


class AtomicBatchWriter(DataSourceArrowWriter):
    """Stages in the tasks, publishes on the driver; one object for the whole job, made on the driver."""

    __reduce__ = reduce_with_import

    def __init__(self, options: SinkOptions, schema: StructType, *, overwrite: bool) -> None:
        if overwrite:
            raise ConfigError(Problem("", "format eosfw cannot overwrite a topic; write with mode append"))
        self._write = AtomicWrite.prepare(options, schema)
        # A write of its own each time, unless the job says which one it repeats.
        self._id = str(uuid.uuid4())
        self._folder = f"write-{self._id}"

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Stage one task's rows."""
        return self._write.stage(iterator, MicroBatch(self._folder, 0))

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Publish the rows, unless this version was published already."""
        numbered = self._numbered()
        try:
            self._write.publish(messages, lambda _: numbered)
            if self._write.options.application is None:
                # It was for the retries of this commit: the id is a new one in each job.
                COMMITTERS.get(numbered.identity, self._write.options)[0].delete_token()
        finally:
            COMMITTERS.release(numbered.identity)
            self._write.staging.remove(self._folder)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Remove what is staged; what a commit has published stays."""
        self._write.staging.remove(self._folder)

    def _numbered(self) -> Numbered:
        application = self._write.options.application or self._id
        version = self._write.options.version or 0

        def decided(last: Token | None, content: BatchContent) -> TokenDecision:
            return decide_write(application, last, version, content)

        return Numbered(TokenIdentity.of_write(application), version, decided, self._write.options.application is None)
