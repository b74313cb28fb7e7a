"""The embedded broker accepts the tokens that an identity provider has signed, and no others, as Kafka does."""

from __future__ import annotations

import base64
import hmac
import json
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.concurrency import ThreadRuntime
from eosfw.config.security import security_settings
from eosfw.errors import SaslAuthenticationError
from eosfw.security.requests import BrokerConnection
from eosfw.security.sasl import authenticate
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.security.access_tokens import InvalidTokenError
from eosfw_memory.server.security.json_web_keys import JsonWebKeys, JsonWebKeysConfig
from eosfw_memory.server.security.signed_tokens import ExpectedClaims, SignedTokenValidator
from secured_kafka import SecuredKafka, token_properties
from token_endpoint import unsecured_token
from token_issuer import TokenIssuer, claims, signed

SERVER = "eosfw_memory.server.security"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
CLIENT = security_settings(
    {
        "bootstrap.servers": "127.0.0.1:9092",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:9/never-asked",
        "sasl.oauthbearer.client.credentials.client.id": "shop",
        "sasl.oauthbearer.client.credentials.client.secret": "never-used",
    }
)


@dataclass(frozen=True)
class Listener:
    """Where tokens of an issuer are accepted."""

    address: str
    issuer: TokenIssuer
    logs: bool
    """Whether its log comes here."""

    def accepts(self, token: str) -> bool:
        """Whether a new connection with the token is let in."""
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), 30.0) as opened:
            try:
                authenticate(BrokerConnection(opened), CLIENT, self.address, lambda: token)
            except SaslAuthenticationError:
                return False
            return True


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer.make()


def started(keys: Path, **changed: str) -> EmbeddedCluster:
    """A broker with the properties that Kafka has for it."""
    properties = {
        "listeners": "TOKENS://127.0.0.1:0",
        "listener.security.protocol.map": "TOKENS:SASL_PLAINTEXT",
        "connection.failed.authentication.delay.ms": "0",
        **token_properties("tokens", keys, f"{MODULE} required;"),
    }
    return EmbeddedCluster.start({**properties, **changed}, ThreadRuntime())


@pytest.fixture(scope="module")
def keys(issuer: TokenIssuer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(issuer.key_set())
    return path


@pytest.fixture(scope="module")
def embedded(issuer: TokenIssuer, keys: Path) -> Iterator[Listener]:
    with closing(started(keys)) as cluster:
        yield Listener(cluster.bootstrap_servers, issuer, logs=True)


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def listener(request: pytest.FixtureRequest) -> Listener:
    """Each cluster in turn."""
    if request.param == "embedded":
        found: Listener = request.getfixturevalue("embedded")
        return found
    node: SecuredKafka = request.getfixturevalue("kafka")
    return Listener(node.listeners["TOKENS"], node.issuer, logs=False)


Make = Callable[[TokenIssuer], str]


def now() -> int:
    """In seconds; asked by each test, which may run long after it was collected."""
    return int(ThreadRuntime().wall())


def with_the_public_key(issuer: TokenIssuer) -> str:
    """HS256, with what everybody knows as its secret; written out, for libraries refuse to do it."""
    parts = (json.dumps(each).encode() for each in ({"alg": "HS256", "kid": "rsa"}, claims()))
    text = b".".join(map(urlsafe, parts))
    return b".".join((text, urlsafe(hmac.digest(issuer.rsa.as_pem(private=False), text, "sha256")))).decode()


def urlsafe(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def with_other_claims(issuer: TokenIssuer) -> str:
    """The signature of another token."""
    header, _, signature = issuer.token().split(".")
    body = urlsafe(json.dumps(claims(sub="admin")).encode()).decode()
    return f"{header}.{body}.{signature}"


def with_a_key_of_its_own(issuer: TokenIssuer) -> str:
    """A key of the attacker, which the header carries along."""
    other = TokenIssuer.make().rsa
    return signed(other, "RS256", {"kid": "rsa", "jwk": other.as_dict(private=False)})


ACCEPTED: Mapping[str, Make] = {
    "RS256": lambda it: it.token(),
    "RS512": lambda it: it.token("RS512"),
    "ES256": lambda it: it.token("ES256"),
    "one of several audiences": lambda it: it.token(aud=["other", "kafka"]),
    "no longer, within the skew": lambda it: it.token(exp=now() - 5, iat=now() - 60),
    "not yet, within the skew": lambda it: it.token(nbf=now() + 5),
}
REFUSED: Mapping[str, tuple[Make, str]] = {
    "none": (lambda _: unsecured_token(**claims()), "its algorithm is none of RS256"),
    "HS256 with the public key": (with_the_public_key, "its algorithm is none of RS256"),
    "other claims": (with_other_claims, "its signature is wrong"),
    "a key of its own": (with_a_key_of_its_own, "no signed JWT of a key of this kind"),
    "an unknown key": (lambda it: it.token(header={"kid": "gone"}), "a key that is not known"),
    "a key of another kind": (lambda it: it.token(header={"kid": "ec"}), "a key that is not known"),
    "expired": (lambda it: it.token(exp=now() - 3600), "it has expired"),
    "not yet valid": (lambda it: it.token(nbf=now() + 3600), "it is not valid yet"),
    "another audience": (lambda it: it.token(aud="other"), "not for an audience"),
    "no audience": (lambda it: it.token(aud=None), "not for an audience"),
    "another issuer": (lambda it: it.token(iss="https://evil.example.org"), "of another issuer"),
    "no issuer": (lambda it: it.token(iss=None), "of another issuer"),
    "no end": (lambda it: it.token(exp=None), "it lacks the claim exp"),
    "no begin": (lambda it: it.token(iat=None), "it lacks the claim iat"),
    "no user": (lambda it: it.token(sub=None), "it lacks the claim sub"),
    "no token": (lambda _: "x.y.z", "no signed JWT"),
}


@pytest.mark.parametrize("kind", ACCEPTED)
def test_a_token_that_the_provider_signed_lets_its_client_in(listener: Listener, kind: str) -> None:
    """SEC-44."""
    assert listener.accepts(ACCEPTED[kind](listener.issuer))


@pytest.mark.parametrize("kind", REFUSED)
def test_any_other_token_is_refused_and_the_log_says_why_in_one_sentence(
    listener: Listener, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-44: forged, for somebody else, of another time."""
    caplog.set_level(logging.INFO, SERVER)
    make, reason = REFUSED[kind]

    assert not listener.accepts(make(listener.issuer))
    told = [each for each in caplog.messages if each.startswith("a token was refused: ")]
    assert len(told) == listener.logs
    assert all(reason in each for each in told)


SECTION = st.one_of(
    st.binary(max_size=20),
    st.builds(
        lambda names, more: json.dumps({**names, **more}).encode(),
        st.fixed_dictionaries({"alg": st.sampled_from(["RS256", "ES256", "none", 1, None])}),
        st.dictionaries(
            st.sampled_from(["kid", "crit", "b64", "jwk", "sub", "aud", "iss", "iat", "exp", "nbf"]),
            st.one_of(st.none(), st.integers(), st.floats(), st.text(max_size=3), st.lists(st.text(max_size=3))),
        ),
    ),
)


@given(st.one_of(st.text(max_size=50), st.lists(SECTION.map(urlsafe).map(bytes.decode), max_size=4).map(".".join)))
@settings(max_examples=150, deadline=None)
def test_nothing_that_a_stranger_sends_as_a_token_is_more_than_refused(keys: Path, token: str) -> None:
    """SEC-44: it raises no error of the broker's own."""
    read = JsonWebKeysConfig(url=keys.as_uri(), refresh=3600.0, backoff=10.0, ca_location="")
    expected = ExpectedClaims(audience=frozenset(), issuer=None, principal_claim="sub", clock_skew=0.0)
    with pytest.raises(InvalidTokenError):
        SignedTokenValidator(JsonWebKeys(read, ThreadRuntime()), expected).validate(token)
