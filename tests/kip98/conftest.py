"""Give each test of KIP-98 a laboratory over the confluent client, on every cluster there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from eosfw.waiting import Runtime, ThreadRuntime
from eosfw_confluent.backend import ConfluentBackend
from kip98.lab import Lab

if TYPE_CHECKING:
    from conftest import Cluster


@pytest.fixture
def runtime() -> Runtime:
    """Real threads, the real clock."""
    return ThreadRuntime()


@pytest.fixture
def lab(cluster: Cluster, runtime: Runtime) -> Iterator[Lab]:
    """A laboratory that is cleared up behind the test."""
    lab = Lab(ConfluentBackend.connect({"bootstrap.servers": cluster.bootstrap_servers}, runtime), runtime)
    yield lab
    lab.close()
