"""Kafka's own tool sets passwords and quotas of users on the embedded broker, shows them and takes them back."""

from __future__ import annotations

from contextlib import closing

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.addresses import parse_addresses
from eosfw.config.security import security_settings
from eosfw.errors import SaslAuthenticationError
from eosfw.security import check_connection
from eosfw_memory.cluster import EmbeddedCluster

WAIT = 30.0
PROPERTIES = {
    "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
    "sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config": "ScramLoginModule required;",
}


@pytest.fixture
def cluster():
    with closing(EmbeddedCluster.start(PROPERTIES, ThreadRuntime())) as serving:
        yield serving


def log_in(cluster: EmbeddedCluster, user: str, password: str) -> None:
    """Raise SaslAuthenticationError if the user has another password."""
    servers = cluster.endpoints["SASL_PLAINTEXT"]
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-512"}
    given = {**client, "bootstrap.servers": servers, "sasl.username": user, "sasl.password": password}
    check_connection(parse_addresses(servers)[0], security_settings(given), WAIT)


def test_kafka_configs_sets_the_password_and_the_quota_of_a_user(java, cluster):
    """CMP-01, SEC-40, QUO-01: `kafka-configs --entity-type users`."""

    def configs(*arguments: str) -> str:
        of_alice = ("--entity-type", "users", "--entity-name", "alice")
        output = java.run("kafka-configs", "--bootstrap-server", cluster.endpoints["PLAINTEXT"], *of_alice, *arguments)
        assert output.status == 0, output.out + output.err
        return output.out

    configs("--alter", "--add-config", "SCRAM-SHA-512=[iterations=8192,password=ab-cd]")
    configs("--alter", "--add-config", "producer_byte_rate=1048576,request_percentage=12.5")
    log_in(cluster, "alice", "ab-cd")
    with pytest.raises(SaslAuthenticationError):
        log_in(cluster, "alice", "another")
    described = configs("--describe")
    assert "producer_byte_rate=1048576" in described
    assert "SCRAM-SHA-512=iterations=8192" in described

    configs("--alter", "--delete-config", "SCRAM-SHA-512")
    configs("--alter", "--delete-config", "producer_byte_rate,request_percentage")
    with pytest.raises(SaslAuthenticationError):
        log_in(cluster, "alice", "ab-cd")
    assert not cluster.broker.quota_control.quotas
