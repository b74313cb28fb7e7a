"""Each backend logs in with tokens of an OpenID provider, and says what is wrong when there is none."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import OAuthBearerSettings
from eosfw.errors import ConfigError, SaslAuthenticationError
from eosfw.security import TokenProvider
from eosfw_memory.cluster import EmbeddedCluster
from http_endpoint import HttpEndpoint
from pytest_eos.contracts.backends.harness import BackendHarness, commit
from secured_kafka import Authority
from token_endpoint import CLIENT_ID, SECRET, TokenEndpoint, unsecured_token

WAIT = 30.0
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedCluster]:
    properties = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{MODULE} required;",
        "connection.failed.authentication.delay.ms": "0",
    }
    with closing(EmbeddedCluster.start(properties, ThreadRuntime())) as served:
        yield served


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as serving:
        yield serving


def client(cluster: EmbeddedCluster, endpoint: TokenEndpoint, **more: str) -> dict[str, str]:
    address = {"bootstrap.servers": cluster.bootstrap_servers, "security.protocol": "SASL_PLAINTEXT"}
    return {**address, **endpoint.client(), **{name.replace("_", "."): text for name, text in more.items()}}


def test_a_transaction_is_written_and_read_with_tokens(
    cluster: EmbeddedCluster, endpoint: TokenEndpoint, backend_class: type[Any]
) -> None:
    """SEC-30: the scope is asked for; the extensions go to the broker."""
    properties = client(cluster, endpoint, sasl_oauthbearer_scope="orders", sasl_oauthbearer_extensions="cluster=one")
    with closing(BackendHarness(backend_class.connect(properties, ThreadRuntime()), ThreadRuntime())) as lab:
        topic = lab.topic()
        commit(lab.producer(), topic, b"value")
        assert lab.values(topic) == [b"value"]
    assert {(*each["grant_type"], *each["scope"]) for each in endpoint.asked} == {("client_credentials", "orders")}


def refusal(backend_class: type[Any], properties: Mapping[str, str], runtime: ThreadRuntime) -> str:
    """Of the first call."""
    with (
        closing(backend_class.connect(properties, runtime)) as backend,
        pytest.raises(SaslAuthenticationError) as why,
    ):
        backend.admin().partitions()
    return str(why.value)


MISTAKES: Mapping[str, tuple[Callable[[TokenEndpoint], object], str]] = {
    "wrong secret": (
        lambda it: it.client("s3cret-guess"),
        "refused a token to client 'shop': HTTP 401: invalid_client Who are you?; correct sasl.oauthbearer.client",
    ),
    "an endpoint that repeats the secret": (
        lambda it: setattr(it, "answer", (400, {}, b'{"error": "no s3cret-of-shop here"}')),
        "HTTP 400: no [hidden] here",
    ),
    "another address": (lambda it: setattr(it, "answer", (404, {}, b"<html>")), "HTTP 404; is sasl.oauthbearer.token"),
    "a redirection": (
        lambda it: setattr(it, "answer", (302, {"Location": "http://127.0.0.1:9/elsewhere"}, b"")),
        "HTTP 302; is sasl.oauthbearer.token.endpoint.url the address for tokens?",
    ),
    "an endpoint in trouble": (
        lambda it: setattr(it, "answer", (503, {}, b"")),
        "refused a token to client 'shop': HTTP 503; look there for why",
    ),
    "no token": (lambda it: setattr(it, "answer", (200, {}, b"[1]")), "answered without an access_token"),
    "a token that has expired": (
        lambda it: it.claims.update(exp=1),
        """refused the token of client 'shop' from {url}: {{"status":"invalid_token"}}. Compare its issuer""",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_why_there_is_no_token_is_one_sentence_with_the_remedy_at_the_first_call(
    cluster: EmbeddedCluster, endpoint: TokenEndpoint, backend_class: type[Any], hasty: ThreadRuntime, mistake: str
) -> None:
    """SEC-32: a secret is in none."""
    make, text = MISTAKES[mistake]
    properties = client(cluster, endpoint)
    if isinstance(changed := make(endpoint), dict):
        properties |= changed
    refused = refusal(backend_class, properties, hasty)

    assert text.format(url=endpoint.url) in refused
    assert "\n" not in refused
    assert "s3cret" not in refused


def test_a_token_endpoint_that_is_down_is_reported_at_the_first_call(
    cluster: EmbeddedCluster, backend_class: type[Any], hasty: ThreadRuntime
) -> None:
    """SEC-32."""
    with TokenEndpoint() as ended:
        properties = client(cluster, ended)
    refused = refusal(backend_class, properties, hasty)

    assert f"the token endpoint {ended.url} does not answer (Connection refused)" in refused


class Dripping(HttpEndpoint):
    """Sends its answer a byte at a time, each within the timeout of a socket, and never all of it."""

    def __init__(self) -> None:
        self.ended = ended = ThreadRuntime().event()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
                with suppress(OSError):
                    while not ended.wait(0.05):
                        self.wfile.write(b" ")

        super().__init__(Handler, "/token")


def test_a_token_endpoint_that_never_ends_its_answer_is_given_up_in_time() -> None:
    """SEC-32: the client would hang, and say nothing."""
    with Dripping() as dripping:
        settings = OAuthBearerSettings(dripping.url, CLIENT_ID, SECRET)
        with pytest.raises(SaslAuthenticationError, match=r"does not answer \(not within 0.5 s\)"):
            TokenProvider(settings, ThreadRuntime()).token(0.5)
        dripping.ended.set()


def test_a_token_endpoint_whose_authority_is_unknown_is_distinguished_from_the_brokers(
    authority: Authority, server_context: Callable[..., ssl.SSLContext]
) -> None:
    """SEC-32: and is trusted where https.ca.location has its authority."""
    with TokenEndpoint(server_context()) as endpoint:
        settings = OAuthBearerSettings(endpoint.url, CLIENT_ID, SECRET)
        with pytest.raises(SaslAuthenticationError, match=r"of the token endpoint .* set https\.ca\.location"):
            TokenProvider(settings, ThreadRuntime()).token(WAIT)
        trusting = OAuthBearerSettings(endpoint.url, CLIENT_ID, SECRET, ca_location=str(authority.ca))

        assert TokenProvider(trusting, ThreadRuntime()).token(WAIT)


def test_a_token_is_kept_until_most_of_its_life_is_over_or_a_broker_refuses_it(
    endpoint: TokenEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEC-30: Kafka's `sasl.login.refresh.window.factor`."""
    runtime, times = ThreadRuntime(), [0.0]
    monkeypatch.setattr(runtime, "now", lambda: times[0])
    provider = TokenProvider(OAuthBearerSettings(endpoint.url, CLIENT_ID, SECRET), runtime)

    asked = []
    for times[0] in (0.0, 2879.0, 2880.0, 2881.0):  # of 3,600 s
        provider.token(WAIT)
        asked.append(len(endpoint.asked))
    provider.discard()
    provider.token(WAIT)

    assert (asked, len(endpoint.asked)) == ([1, 1, 2, 2], 3)


@pytest.mark.parametrize("number", [10**400, -(10**400), float("nan")], ids=["beyond", "below", "no number"])
def test_a_life_that_is_no_number_of_seconds_is_one_that_is_not_known(endpoint: TokenEndpoint, number: float) -> None:
    """SEC-30: the token is used, and another one asked for with the next connection."""
    provider = TokenProvider(OAuthBearerSettings(endpoint.url, CLIENT_ID, SECRET), ThreadRuntime())
    for answer in ({"expires_in": number}, {"access_token": unsecured_token(exp=number)}):
        endpoint.answer = (200, {}, json.dumps({"access_token": unsecured_token(), **answer}).encode())
        asked = len(endpoint.asked)

        assert provider.token(WAIT)
        assert provider.token(WAIT)
        assert len(endpoint.asked) == asked + 2


def test_other_machines_are_not_served_where_anybody_can_write_a_token(tmp_path: Path) -> None:
    """SEC-31: as without any authentication."""
    listening = {"listeners": "SASL_PLAINTEXT://0.0.0.0:0", "sasl.enabled.mechanisms": "OAUTHBEARER"}
    jaas = {"listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config": f"{MODULE} required;"}
    with pytest.raises(ConfigError, match="without any authentication"):
        EmbeddedCluster.start(listening | jaas, ThreadRuntime())
