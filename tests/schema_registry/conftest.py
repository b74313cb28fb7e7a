"""A schema registry of others for the tests of all formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import pytest

from real_kafka import RealKafkaUnavailableError

from .apicurio import served_apicurio


@pytest.fixture(scope="session")
def foreign_registry(
    tmp_path_factory: pytest.TempPathFactory, unavailable: Callable[[str, str], NoReturn]
) -> Iterator[str]:
    """The URL of Apicurio Registry, shared by all tests: use topics of your own. Such tests are marked `ci`."""
    served = served_apicurio(tmp_path_factory.mktemp("apicurio"))
    try:
        url = served.__enter__()
    except RealKafkaUnavailableError as why:
        unavailable("kafka", str(why))
    yield url
    served.__exit__(None, None, None)
