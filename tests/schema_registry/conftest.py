"""Schema registries, and converters that use them, for the tests of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from eosfw.config.parts import PartChoice

from .apicurio import served_apicurio
from .http_registry import SchemaRegistry, served_registry


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with served_registry() as served:
        yield served


@pytest.fixture(scope="session")
def foreign_registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of Apicurio Registry, shared by all tests: use topics of your own. Such tests are marked `ci`."""
    with served_apicurio(tmp_path_factory.mktemp("apicurio")) as url:
        yield url


@pytest.fixture
def configured() -> Iterator[Callable[..., Any]]:
    """Configures converters with the URL of a registry and other properties, and closes them."""
    with ExitStack() as opened:

        def configure(converter: Any, url: str, **properties: str) -> Any:
            given = {"schema.registry.url": url} | {n.replace("_", "."): text for n, text in properties.items()}
            PartChoice("value.converter", converter.name, given).configured(converter)
            return opened.enter_context(closing(converter))

        yield configure
