"""Properties of a worker in a group of several: Kafka Connect's names, defaults and rules."""

from __future__ import annotations

import pytest

from eosfw.config.clients import config_consumer, leader_producer
from eosfw.config.worker import WORKER
from eosfw.errors import ConfigError

KAFKAS_DEFAULTS = {
    "client.id": "",
    "session.timeout.ms": 10_000,
    "heartbeat.interval.ms": 3_000,
    "rebalance.timeout.ms": 60_000,
    "scheduled.rebalance.max.delay.ms": 300_000,
    "connect.protocol": "sessioned",
    "worker.sync.timeout.ms": 3_000,
    "worker.unsync.backoff.ms": 300_000,
    "status.storage.partitions": 5,
    "topic.tracking.enable": True,
    "topic.tracking.allow.reset": True,
    "rest.advertised.host.name": None,
    "rest.advertised.port": None,
    "rest.advertised.listener": None,
    "inter.worker.key.generation.algorithm": "HmacSHA256",
    "inter.worker.key.size": None,
    "inter.worker.key.ttl.ms": 3_600_000,
    "inter.worker.signature.algorithm": "HmacSHA256",
    "inter.worker.verification.algorithms": ("HmacSHA256",),
    "offset.flush.interval.ms": 60_000,
    "offset.flush.timeout.ms": 5_000,
    "task.shutdown.graceful.timeout.ms": 5_000,
}


def refused(properties: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as message:
        WORKER.parse({"group.id": "g", **properties}, "worker")
    return str(message.value)


@pytest.mark.parametrize(("name", "default"), KAFKAS_DEFAULTS.items())
def test_a_property_that_is_not_given_has_kafka_connects_default(name: str, default: object) -> None:
    """CFG-10."""
    assert WORKER.parse({"group.id": "g"})[name] == default


def test_the_rest_interface_listens_to_this_machine_alone_by_default() -> None:
    """Kafka Connect listens to everybody, and lets everybody in."""
    assert WORKER.parse({"group.id": "g"})["listeners"] == ("http://127.0.0.1:8083",)


@pytest.mark.parametrize("heartbeat", ["10000", "10001"])
def test_a_heartbeat_slower_than_the_session_is_refused(heartbeat: str) -> None:
    """The group would take a healthy worker for dead."""
    message = refused({"heartbeat.interval.ms": heartbeat})

    assert f"heartbeat.interval.ms={heartbeat} must be below session.timeout.ms=10000" in message


@pytest.mark.parametrize("word", ["EAGER", "Compatible", "sessioned"])
def test_the_protocol_reads_in_any_case(word: str) -> None:
    assert WORKER.parse({"group.id": "g", "connect.protocol": word})["connect.protocol"] == word.lower()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("connect.protocol", "sesioned", "did you mean sessioned?"),
        ("session.timeout.ms", "0", "Value must be at least 1"),
        ("scheduled.rebalance.max.delay.ms", "-1", "Value must be at least 0"),
        ("scheduled.rebalance.max.delay.ms", "2147483648", "Value must be no more than 2147483647"),
        ("rest.advertised.port", "65536", "Value must be no more than 65535"),
        ("rest.advertised.listener", "ftp", "String must be one of: http, https"),
        ("listeners", "127.0.0.1:8083", "must be http://HOST:PORT or https://HOST:PORT"),
        ("listeners", "", "at least one URL is expected, such as http://127.0.0.1:8083"),
        ("inter.worker.key.size", "8", "Value must be at least 128"),
        ("inter.worker.signature.algorithm", "HmacMD5", "String must be one of: HmacSHA256"),
        ("inter.worker.verification.algorithms", ",", "at least one signature verification algorithm"),
        ("inter.worker.verification.algorithms", "HmacSHA256,none", "String must be one of: HmacSHA256"),
        ("inter.worker.signature.algorithm", "HmacSHA512", "must be among inter.worker.verification.algorithms"),
        ("topic.tracking.enable", "yes", "Expected value to be either true or false"),
    ],
)
def test_a_value_that_cannot_work_is_refused(name: str, text: str, message: str) -> None:
    """Among them: a worker never signs what no worker accepts."""
    refusal = refused({name: text})

    assert name in refusal
    assert message in refusal


def test_a_signature_algorithm_that_is_accepted_may_be_chosen() -> None:
    given = {
        "group.id": "g",
        "inter.worker.signature.algorithm": "hmacsha512",
        "inter.worker.verification.algorithms": "HmacSHA256, HMACSHA512",
    }

    config = WORKER.parse(given)

    assert config["inter.worker.signature.algorithm"] == "HmacSHA512"
    assert config["inter.worker.verification.algorithms"] == ("HmacSHA256", "HmacSHA512")


def test_a_workers_client_id_is_a_part_of_its_own_clients() -> None:
    named = WORKER.parse({"group.id": "g", "client.id": "blue"})

    assert leader_producer(named, "connect-cluster-g").properties["client.id"] == "g-blue-configs"
    assert config_consumer(named).properties["client.id"] == "g-blue-configs"


def test_without_a_client_id_clients_keep_their_librarys() -> None:
    assert "client.id" not in leader_producer(WORKER.parse({"group.id": "g"}), "connect-cluster-g").properties
