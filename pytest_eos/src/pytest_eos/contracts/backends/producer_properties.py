"""The contract of a backend for producer properties that affect exactly-once."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from eosfw.errors import ConfigError
from pytest_eos.contracts.backends.fixtures import BackendUnderTestFixtures
from pytest_eos.contracts.backends.harness import WAIT, BackendHarness, record

_CONTRADICTIONS = (
    {"acks": "1"},
    {"acks": "0"},
    {"retries": "0"},
    {"max.in.flight.requests.per.connection": "6"},
)


def _named(properties: Mapping[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in properties.items())


class ProducerPropertiesContract(BackendUnderTestFixtures):
    """Part of BackendContract."""

    @pytest.mark.eos_needs("transactions")
    @pytest.mark.parametrize("properties", [*_CONTRADICTIONS, {"enable.idempotence": "false"}], ids=_named)
    def test_properties_that_contradict_a_transactional_producer_are_refused(
        self, lab: BackendHarness, properties: dict[str, str]
    ) -> None:
        """PRD-10: the error names the property before the client connects; it is not replaced silently."""
        (name,) = properties

        with pytest.raises(ConfigError, match=name):
            lab.backend.producer(lab.name(), properties=properties)

    @pytest.mark.parametrize("properties", _CONTRADICTIONS, ids=_named)
    def test_properties_that_contradict_enabled_idempotence_are_refused(
        self, lab: BackendHarness, properties: dict[str, str]
    ) -> None:
        """PRD-10: also without a transactional id."""
        (name,) = properties

        with pytest.raises(ConfigError, match=name):
            lab.backend.producer(None, properties={"enable.idempotence": "true", **properties})

    @pytest.mark.parametrize("properties", [*_CONTRADICTIONS, {"enable.idempotence": "true"}], ids=_named)
    def test_a_plain_producer_accepts_properties_weaker_than_idempotence(
        self, lab: BackendHarness, properties: dict[str, str]
    ) -> None:
        """PRD-10, KIP-679: idempotence was not set by the user, so weaker properties do not contradict it."""
        topic = lab.topic()
        producer = lab.backend.producer(None, properties=properties)

        producer.send(record(topic, b"v"))
        producer.flush(WAIT)

        assert lab.until(lambda: lab.values(topic), lambda values: values == [b"v"])

    def test_an_empty_transactional_id_is_refused(self, lab: BackendHarness) -> None:
        """PRD-10: an empty text is neither an id nor None."""
        with pytest.raises(ConfigError, match=r"transactional\.id"):
            lab.backend.producer("")
