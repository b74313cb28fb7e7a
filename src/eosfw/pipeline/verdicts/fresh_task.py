"""Tasks that start without committed offsets, and whose records are written nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.connector import BOUNDARY
from eosfw.config.connector.error_handling import ErrorHandlingConfig
from eosfw.connectors import SourceTask, TransactionContext
from eosfw.errors import EosfwError, RetriableError, TaskFailedError, described
from eosfw.ids import ConnectorTaskId
from eosfw.observe.plugin_metrics import unread_metrics
from eosfw.plugin_metrics import PluginMetrics
from eosfw.records import SourceOffset, SourcePartition
from eosfw.registry import Plugins
from eosfw.registry.record_parts import record_parts
from eosfw.runtime.records.poll_result import has_records, read_poll_result
from eosfw.runtime.records.retry_with_tolerance import ErrorReporter, RetryWithToleranceOperator
from eosfw.runtime.records.stages import RecordStages
from eosfw.runtime.status import ErrorHandlingMetrics
from eosfw.state.tasks.boundary import Boundary, BoundaryError, End, PollBoundary, RequestedBoundary, split
from eosfw.state.tasks.poll_batch import PollBatch

Select = Callable[[PollBatch], Sequence[PollBatch]]
"""Which parts of a batch are of interest."""
OnNotice = Callable[[str], None]
"""Is called with the text of each notice of a task."""


def new_boundary(connector: Config) -> Boundary:
    """The boundary of a task's transactions: interval boundaries commit everything, as those of polls do."""
    return RequestedBoundary() if connector[BOUNDARY] == "connector" else PollBoundary()


@contextmanager
def new_stages(
    plugins: Plugins, worker: Config, connector: Config, task_id: ConnectorTaskId, runtime: Runtime
) -> Iterator[RecordStages | None]:
    """What changes the records of one task, as in a worker, though without a word about those that are dropped."""
    made = record_parts(plugins, worker, connector)
    if made is None:
        yield None
        return
    with closing(made):
        how = replace(ErrorHandlingConfig.from_connector(connector), log=False)

        def wait(seconds: float) -> bool:
            runtime.sleep(seconds)
            return False

        reporter = ErrorReporter(ErrorHandlingMetrics())
        yield RecordStages(made, RetryWithToleranceOperator(task_id, how, runtime, reporter, wait))


@dataclass(slots=True)
class FreshTaskContext:
    """The `SourceTaskContext` of such a task; its notices are passed to `on_notice`."""

    task_id: ConnectorTaskId
    transaction: TransactionContext | None
    on_notice: OnNotice
    record_offsets: bool = True
    metrics: PluginMetrics = field(default_factory=unread_metrics)

    def offset(self, partition: SourcePartition) -> SourceOffset | None:
        """None: nothing was committed before."""

    def notice(self, kind: str, text: str, count: int = 1) -> None:
        """Pass the text of a notice on."""
        self.on_notice(text)


class FreshTask:
    """A task, and the batches of its transaction under way; errors of the connector become TaskFailedError.

    `label` begins the text of these errors. `stages` is what changes its records, which `sent` does.
    """

    def __init__(
        self,
        task: Callable[[], SourceTask],
        task_id: ConnectorTaskId,
        boundary: Boundary,
        stages: RecordStages | None = None,
        label: str = "task",
    ) -> None:
        self.id = task_id
        self.open: list[PollBatch] = []
        """What was selected of the transaction that the task has not ended yet."""
        self.busy = True
        """Whether the last poll gave anything."""
        self.failure: RetriableError | None = None
        """Why the last poll gave nothing, if it failed."""
        self._boundary, self._label = boundary, label
        self._stages = stages
        with self._connector_errors():
            self._task = task()

    def start(self, config: Config, on_notice: OnNotice) -> None:
        """Start the task from nothing."""
        transaction = self._boundary if isinstance(self._boundary, RequestedBoundary) else None
        with self._connector_errors():
            self._task.start(config, FreshTaskContext(self.id, transaction, on_notice))

    def poll(self, now: float, select: Select = lambda batch: (batch,)) -> Iterator[PollBatch]:
        """Poll once; what was selected of the transactions that are committed by this poll."""
        with self._connector_errors():
            polled = self._poll()
            self.busy = has_records(polled)
            for piece, end in split(polled, self._boundary, lambda: now):
                self.open += [part for batch in piece for part in select(batch)]
                if end is not End.KEEP:
                    ended, self.open = self.open, []
                    yield from ended if end is End.COMMIT else ()

    def sent(self, polled: Sequence[PollBatch]) -> Sequence[PollBatch]:
        """What a worker would send of batches that `poll` gave."""
        return polled if self._stages is None else self._stages.apply(polled)

    def at_end(self) -> bool:
        """Whether the source is at its end, as far as the task knows."""
        with self._connector_errors():
            return bool(self._task.at_end())

    def end_transaction(self) -> None:
        """Tell the boundary that the source has ended."""
        with self._connector_errors():
            self._boundary.at_end()

    def stop(self) -> None:
        """Stop the task."""
        with self._connector_errors():
            self._task.stop()

    def _poll(self) -> Sequence[PollBatch]:
        self.failure = None
        try:
            return read_poll_result(self._task.poll(), self.id, any_data=self._stages is not None)
        except RetriableError as failure:
            self.failure = failure
            return ()

    @contextmanager
    def _connector_errors(self) -> Iterator[None]:
        try:
            yield
        except EosfwError:
            raise
        except BoundaryError as error:
            raise TaskFailedError(f"task {self.id}: {error}") from None
        except (Exception, SystemExit) as error:
            raise TaskFailedError(f"{self._label} {self.id} failed: {described(error)}") from error
