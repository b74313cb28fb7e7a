"""A topic that queries of a real Spark session write to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw_spark.root_cause import root_cause
from pytest_eos.contracts.backends.harness import BackendHarness
from pytest_eos.environment.config.installed_plugins import installed_plugins

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"


class Sink:
    """A topic that Spark writes to."""

    def __init__(self, servers: str, spark: SparkSession, folder: Path) -> None:
        backend = installed_plugins().backend("confluent").connect({"bootstrap.servers": servers}, ThreadRuntime())
        self.lab = BackendHarness(backend, ThreadRuntime())
        self.servers, self.spark, self.folder = servers, spark, folder
        self.topic = self.lab.topic(2)
        self.input, self.checkpoint = folder / "input", folder / "checkpoint"
        self.files = 0

    def options(self, **more: str) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, "topic": self.topic, **more}

    def add(self, *values: str) -> None:
        """Add a file, which a query reads as one batch."""
        self.input.mkdir(exist_ok=True)
        (self.input / f"{self.files}.txt").write_text("".join(f"{value}\n" for value in values))
        self.files += 1

    def lines(self) -> DataFrame:
        return self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.input))

    def run(self, frame: DataFrame | None = None, **more: str) -> None:
        """Run a query until it has published what is there."""
        writer = (self.lines() if frame is None else frame).writeStream.format("eosfw").options(**self.options(**more))
        query = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination()

    def run_named(self, frame: DataFrame | None = None) -> None:
        """The same for a query that has its checkpoint from the session: in a folder by its name."""
        self.spark.conf.set(_CHECKPOINTS, str(self.checkpoint.parent))
        try:
            writer = (self.lines() if frame is None else frame).writeStream.format("eosfw").options(**self.options())
            writer.queryName(self.checkpoint.name).trigger(availableNow=True).start().awaitTermination()
        finally:
            self.spark.conf.unset(_CHECKPOINTS)

    def forget_commit(self, batch: int) -> None:
        """Spark dies after the sink's commit and before its own."""
        for path in (self.checkpoint / "commits").glob(f"*{batch}*"):
            path.unlink()

    def values(self) -> list[str]:
        return sorted((value or b"").decode() for value in self.lab.values(self.topic))


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - Spark's classes differ by version
        call()
    return root_cause(caught.value).sentence
