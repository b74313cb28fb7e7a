"""A schema registry of others for the tests of all formats."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .apicurio import served_apicurio


@pytest.fixture(scope="session")
def foreign_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Apicurio Registry, shared by all tests: use topics of your own. Such tests are marked `ci`."""
    with served_apicurio(tmp_path_factory.mktemp("apicurio")) as url:
        yield url
