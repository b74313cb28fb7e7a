"""Every backend takes Kafka's property names, and refuses what it cannot do with them."""

from __future__ import annotations

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError
from eosfw.protocols import Backend
from kip98.clients import BACKENDS
from pytest_eos.environment.config.installed_plugins import installed_plugins

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.fixture(params=BACKENDS)
def kind(request: pytest.FixtureRequest) -> type[Backend]:
    """Each backend in turn."""
    return installed_plugins().backend(request.param)


def test_a_property_of_another_client_kind_is_refused_in_an_override(kind: type[Backend], runtime: Runtime) -> None:
    """CFG-07: `producer.override.fetch.min.bytes` is a mistake, `fetch.min.bytes` of the whole backend is none."""
    backend = kind.connect({**SERVERS, "fetch.min.bytes": "1"}, runtime)

    with pytest.raises(ConfigError, match=r"fetch\.min\.bytes is no property of a Kafka producer client"):
        backend.producer(None, properties={"fetch.min.bytes": "1"})
    backend.close()


def test_a_wait_that_is_no_number_is_a_mistake_in_the_configuration(kind: type[Backend], runtime: Runtime) -> None:
    """CFG-05: found when a client is made, before it talks to anybody."""
    backend = kind.connect(SERVERS, runtime)

    with pytest.raises(ConfigError, match=r"Invalid value soon for configuration max\.block\.ms: Not a number"):
        backend.producer(None, properties={"max.block.ms": "soon"})
    backend.close()
