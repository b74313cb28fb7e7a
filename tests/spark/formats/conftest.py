"""Offer a schema registry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.schema_registry.http_registry import SchemaRegistry, served_registry

from eosfw_spark.formats.registry import close_kept_registries


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    """A new registry; the connections to it that were kept are closed."""
    with served_registry() as served:
        yield served
        close_kept_registries()
