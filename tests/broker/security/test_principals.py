"""Each request carries the principal of its connection."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.x509 import load_pem_x509_certificate

from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import security_settings
from eosfw_memory.client.transport.apis import METADATA, Fields
from eosfw_memory.client.transport.channel_builder import ChannelBuilder
from eosfw_memory.client.transport.sockets import SocketNetwork

from .conftest import PASSWORD

WAIT = 30.0
ALICE = {"sasl.username": "alice", "sasl.password": PASSWORD}


@pytest.fixture
def seen(secured):
    """The principal and the host of each request."""
    found: list[tuple[str, str]] = []

    def intercept(handler):
        def handle(broker, request, context):
            found.append((context.principal, context.client_host))
            return handler(broker, request, context)

        return handle

    secured.broker.interceptor = intercept
    yield found
    secured.broker.interceptor = None


@pytest.mark.parametrize(
    ("listener", "properties", "principal"),
    [
        ("PLAINTEXT", {}, "User:ANONYMOUS"),
        ("SASL_PLAINTEXT", {**ALICE, "sasl.mechanism": "PLAIN"}, "User:alice"),
        ("SASL_SSL", {**ALICE, "sasl.mechanism": "SCRAM-SHA-256"}, "User:alice"),
        ("SSL", {}, None),
    ],
)
def test_a_request_carries_the_principal_that_its_connection_has_proved(
    secured, authority, seen, listener, properties, principal
):
    """ACL-14: the user of SASL, the owner of a certificate, or nobody."""
    tls = {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority.authority}
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": authority.client}
    given = {"security.protocol": listener, **properties}
    given |= tls if "SSL" in listener else {}
    given |= own if listener == "SSL" else {}
    servers, runtime = secured.endpoints[listener], ThreadRuntime()
    network = SocketNetwork(servers, "me", WAIT, runtime, ChannelBuilder(security_settings(given)))

    deadline = runtime.now() + WAIT
    request = Fields(
        topics=(),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
        include_cluster_authorized_operations=False,
    )
    network.any(deadline).call(METADATA, request, deadline)
    network.close()

    # As Java writes the subject: it escapes what RFC 4514 leaves as it is in the middle of a value.
    subject = load_pem_x509_certificate(Path(authority.client).read_bytes()).subject.rfc4514_string()
    assert seen[-1] == (principal or "User:" + subject.replace("#", "\\#"), "/127.0.0.1")
