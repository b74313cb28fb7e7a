"""Workers of a group on an embedded cluster in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.kip618.group import GroupPlugins
from tests.runtime.counting import CountingConnector

from pytest_eos.environment.clusters.cluster import Cluster, virtual
from pytest_eos.runs.groups.herders import HerderGroup


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """An embedded cluster without a port."""
    with virtual(7) as cluster:
        yield cluster


@pytest.fixture
def group(cluster: Cluster) -> Iterator[HerderGroup]:
    """A group without workers."""
    with HerderGroup(cluster, GroupPlugins(CountingConnector()), "g") as group:  # type: ignore[arg-type]
        yield group
