"""Every backend takes Kafka's property names, and refuses what it cannot do with them."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from eosfw.concurrency import Runtime
from eosfw.errors import ConfigError
from eosfw.protocols import Backend
from kip98.clients import BACKENDS
from pytest_eos.environment.config.installed_plugins import installed_plugins

SERVERS = {"bootstrap.servers": "127.0.0.1:1"}
LIBRDKAFKAS = {"linger.ms": r"linger\.ms|queue\.buffering", "compression.type": r"compression\.(type|codec)"}
"""What an error may call a property instead: librdkafka finds the wrong value, and says its own name."""
IGNORED = {"linger.ms"}


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"max.block.ms": "soon"},
        {"linger.ms": "soon"},
        {"buffer.memory": "much"},
        {"compression.type": "zip"},
        {"enable.idempotence": "perhaps"},
        {"max.in.flight.requests.per.connection": "six"},
    ],
    ids=str,
)
def test_a_bad_value_is_a_mistake_in_the_configuration(
    kind: type[Backend], runtime: Runtime, wrong: dict[str, str]
) -> None:
    """CFG-05: found when a client is made, before it talks to anybody; one without effect may have any value."""
    (name,) = wrong
    with closing(kind.connect(SERVERS, runtime)) as backend:
        if kind.name == "memory" and name in IGNORED:
            backend.producer(None, properties=wrong).close()
        else:
            with pytest.raises(ConfigError, match=LIBRDKAFKAS.get(name, re.escape(name))):
                backend.producer(None, properties=wrong)


@pytest.mark.parametrize("kind", ["confluent", "kafka-python"], indirect=True)
def test_javas_security_properties_are_taken_by_both_client_libraries(kind: type[Backend], runtime: Runtime) -> None:
    """CFG-05: without TLS the file is not looked for."""
    line = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="secret";'
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": line}

    kind.connect({**SERVERS, **given, "ssl.truststore.location": "nowhere.pem"}, runtime).close()
    with pytest.raises(ConfigError, match=r"Invalid value \[hidden\] for configuration sasl\.jaas\.config"):
        kind.connect({**SERVERS, "sasl.jaas.config": line[:-1]}, runtime)
