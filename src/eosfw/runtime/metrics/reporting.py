"""Metrics reporters at work (the `MetricsReporter`s of Kafka Connect's `ConnectMetrics`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from eosfw.concurrency import Runtime, Spawned
from eosfw.config import Config
from eosfw.config.definition.layered import originals_with_prefix
from eosfw.config.parts import METRICS_CONTEXT, REPORT_INTERVAL
from eosfw.errors import RetriableError, with_class
from eosfw.observe import Metric
from eosfw.protocols import Backend, MetricsContext, MetricsReporter
from eosfw.registry import Plugins, parts
from eosfw.state.tasks.backoff import LogBackoff

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT = 5.0
"""Seconds that all reporters together get for their last report."""


@dataclass(frozen=True, slots=True)
class ReportingServices:
    """What reporters are told, and when."""

    runtime: Runtime
    interval: float
    """Seconds between two reports."""
    read: Callable[[], Sequence[Metric]]
    """All values now."""
    context: Callable[[], MetricsContext]
    """May ask the cluster."""


class MetricsReporting:
    """Calls each reporter on a thread of its own: one that blocks holds up neither another one nor the worker."""

    def __init__(self, reporters: Callable[[], Sequence[MetricsReporter]], services: ReportingServices) -> None:
        self._reporters, self._services = reporters, services
        self._ended = services.runtime.event()
        self._threads: list[Spawned] = []

    def start(self) -> None:
        """Make and start the reporters; does not wait for them. ConfigError if their properties do not fit."""
        spawn = self._services.runtime.spawn
        self._threads = [spawn(f"eosfw-metrics-{one.name}", partial(self._run, one)) for one in self._reporters()]

    def close(self, timeout: float = CLOSE_TIMEOUT) -> None:
        """Have a last report made, and every reporter closed; from any thread, also twice."""
        self._ended.set()
        deadline = self._services.runtime.now() + timeout
        for thread in self._threads:
            thread.join(max(0.0, deadline - self._services.runtime.now()))

    def _run(self, reporter: MetricsReporter) -> None:
        try:
            try:
                context = self._context()
                if context is None:
                    return
                reporter.start(context)
            except Exception as error:  # noqa: BLE001 a reporter must not end the worker
                logger.warning(
                    "metrics reporter %r does not start, and is left out: %s", reporter.name, with_class(error)
                )
                return
            self._report_until_ended(reporter)
        finally:
            self._close(reporter)

    def _context(self) -> MetricsContext | None:
        """The labels of all values; None if the worker stops before its cluster answers."""
        while True:
            try:
                return self._services.context()
            except RetriableError as error:
                logger.warning("metrics reporters do not start yet: %s", with_class(error))
                if self._ended.wait(self._services.interval):
                    return None

    def _report_until_ended(self, reporter: MetricsReporter) -> None:
        backoff = LogBackoff()
        is_last = False
        while not is_last:
            is_last = self._ended.wait(self._services.interval)
            try:
                reporter.report(self._services.read())
            except Exception as error:  # noqa: BLE001 as above
                if backoff.due(self._services.runtime.now()):
                    logger.warning("metrics reporter %r failed, and goes on: %s", reporter.name, with_class(error))
            else:
                backoff.reset()

    def _close(self, reporter: MetricsReporter) -> None:
        try:
            reporter.close()
        except Exception as error:  # noqa: BLE001 as above
            logger.warning("metrics reporter %r failed when it was closed: %s", reporter.name, with_class(error))


def metrics_reporting(
    config: Config, plugins: Plugins, backend: Backend, runtime: Runtime, read: Callable[[], Sequence[Metric]]
) -> MetricsReporting:
    """The reporters that a worker's properties choose, not started yet."""

    def context() -> MetricsContext:
        with closing(backend.admin()) as admin:
            cluster = admin.cluster_id() or "unknown"
        own = originals_with_prefix(config.given, METRICS_CONTEXT)
        return MetricsContext({"connect.group.id": config["group.id"], "connect.kafka.cluster.id": cluster, **own})

    services = ReportingServices(runtime, config[REPORT_INTERVAL] / 1000, read, context)
    return MetricsReporting(lambda: parts.metrics_reporters(plugins, config), services)
