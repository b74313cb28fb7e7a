"""A metrics reporter: what a worker measures, as a line of JSON for each report.

"metric.reporters" = "json-file"
"metric.reporters.json-file.path" = "/var/log/eosfw/metrics.jsonl"
"metrics.context.region" = "eu-north"
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence

from eosfw import Config, ConfigDef, String, hookimpl
from eosfw.observe import Metric
from eosfw.protocols import MetricsContext


class JsonFileReporter:
    """Appends the values to a file."""

    name = "json-file"
    config = ConfigDef(String("path", doc="the file; it is made if it does not exist"))

    def configure(self, config: Config) -> None:
        self._path = config["path"]

    def start(self, context: MetricsContext) -> None:
        self._labels = dict(context.labels)

    def report(self, metrics: Sequence[Metric]) -> None:
        values = [{"name": one.name, "value": _json(one.value), **one.labels} for one in metrics]
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"at": time.time(), **self._labels, "metrics": values}) + "\n")

    def close(self) -> None:
        pass


def _json(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


@hookimpl
def eosfw_metrics_reporters() -> list[type[JsonFileReporter]]:
    return [JsonFileReporter]
