"""Records never go to another cluster than their offsets (OFF-06)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw.pipeline import Options, Pipeline, RunControl, SilentReporter, run
from eosfw.registry import Plugins
from eosfw_memory.client.backend import MemoryBackend
from eosfw_memory.cluster import EmbeddedCluster

Make = Callable[..., Pipeline]
RUNTIME = ThreadRuntime()


def topics(address: str) -> set[str]:
    backend = MemoryBackend.connect({"bootstrap.servers": address}, RUNTIME)
    with closing(backend), closing(backend.admin()) as admin:
        return {name for name in admin.partitions() if not name.startswith("__")}


@pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])
@pytest.mark.parametrize("layer", ["worker", "connector"])
def test_a_producer_with_a_cluster_of_its_own_writes_nowhere(
    embedded: str, pipeline: Make, plugins: Plugins, backend: str, layer: str
) -> None:
    """OFF-06: a second run read its offsets at home, and sent everything to the other cluster again."""
    flow = pipeline(backend=backend)
    before = topics(embedded)
    with closing(EmbeddedCluster.start({}, RUNTIME)) as other:
        key = "producer.bootstrap.servers" if layer == "worker" else "producer.override.bootstrap.servers"
        flow = replace(flow, **with_properties(flow, layer, {key: other.bootstrap_servers}))
        why = (
            "' would take the clients" if layer == "worker" else ": a run reads and verifies its topics on one cluster"
        )
        with pytest.raises(ConfigError, match=key + why):
            run(flow, plugins, RunControl(RUNTIME), SilentReporter(), Options())

        assert topics(other.bootstrap_servers) == set()
    assert topics(embedded) == before


def with_properties(flow: Pipeline, layer: str, given: dict[str, str]) -> dict[str, object]:
    """The field of a pipeline that holds these properties as well."""
    if layer == "worker":
        return {"worker": {**flow.worker, **given}}
    return {"connectors": {"c": {**flow.connectors["c"], **given}}}
