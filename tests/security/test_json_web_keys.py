"""The keys of an identity provider are read again when they have changed, and not as often as strangers wish."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.server.security import token_validation
from eosfw_memory.server.security.access_tokens import InvalidTokenError
from eosfw_memory.server.security.json_web_keys import JsonWebKeys, JsonWebKeysConfig
from eosfw_memory.server.security.signed_tokens import ExpectedClaims, SignedTokenValidator
from http_endpoint import HttpEndpoint
from secured_kafka import Authority
from token_issuer import AUDIENCE, ISSUER, TokenIssuer

REFRESH, BACKOFF = 3600.0, 10.0
URL = "sasl.oauthbearer.jwks.endpoint.url"
JAAS = "listener.name.sasl_plaintext.oauthbearer.sasl.jaas.config"
LISTENING = {"listeners": "SASL_PLAINTEXT://127.0.0.1:0", "sasl.enabled.mechanisms": "OAUTHBEARER"}


class KeyEndpoint(HttpEndpoint):
    """Gives the keys of an issuer; counts how often it was asked."""

    def __init__(self, body: str, context: ssl.SSLContext | None = None) -> None:
        self.body, self.status, self.asked = body, 200, 0
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.asked += 1
                self.send_response(endpoint.status if self.path == "/keys" else 200)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(endpoint.body.encode())

        super().__init__(Handler, "/keys", context)


class Turned(ThreadRuntime):
    """A clock that is turned by hand, and threads that are run by hand."""

    def __init__(self) -> None:
        self.time = 0.0
        self.begun: list[Callable[[], None]] = []

    def now(self) -> float:
        return self.time

    def spawn(self, name: str, target: Callable[[], None]) -> Any:
        self.begun.append(target)

    def run(self) -> int:
        """Run what was begun, and say how much that was."""
        begun, self.begun = self.begun, []
        for each in begun:
            each()
        return len(begun)


@pytest.fixture(scope="module")
def issuer() -> TokenIssuer:
    return TokenIssuer.make()


@pytest.fixture(scope="module")
def renewed() -> TokenIssuer:
    return TokenIssuer.make()


@pytest.fixture
def endpoint(issuer: TokenIssuer) -> Iterator[KeyEndpoint]:
    with KeyEndpoint(issuer.key_set()) as serving:
        yield serving


def read(url: str, runtime: ThreadRuntime | None = None) -> JsonWebKeys:
    config = JsonWebKeysConfig(url=url, refresh=REFRESH, backoff=BACKOFF, ca_location="")
    return JsonWebKeys(config, runtime or ThreadRuntime())


def accepts(keys: JsonWebKeys, token: str) -> bool:
    expected = ExpectedClaims(audience=frozenset([AUDIENCE]), issuer=ISSUER, principal_claim="sub", clock_skew=0.0)
    try:
        SignedTokenValidator(keys, expected).validate(token)
    except InvalidTokenError:
        return False
    return True


def test_an_unknown_key_is_asked_for_at_the_endpoint_once_in_ten_seconds(
    endpoint: KeyEndpoint, issuer: TokenIssuer, renewed: TokenIssuer
) -> None:
    """SEC-45: on another thread, so that a slow endpoint holds nobody up; whoever invents tokens causes no flood."""
    runtime = Turned()
    keys = read(endpoint.url, runtime)
    token = renewed.token(header={"kid": "new"})
    assert (accepts(keys, issuer.token()), accepts(keys, token), runtime.run()) == (True, False, 0)

    endpoint.body = renewed.key_set().replace('"kid": "rsa"', '"kid": "new"')
    runtime.time = BACKOFF
    assert [accepts(keys, token) for _ in range(3)] == [False] * 3
    assert (runtime.run(), endpoint.asked) == (1, 2)

    assert accepts(keys, token)
    assert [accepts(keys, issuer.token()) for _ in range(3)] == [False] * 3
    assert (runtime.run(), endpoint.asked) == (0, 2)


def test_keys_grow_old_and_stay_when_the_endpoint_fails(
    endpoint: KeyEndpoint, issuer: TokenIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-45."""
    runtime = Turned()
    keys = read(endpoint.url, runtime)
    for status, body in ((503, endpoint.body), (302, endpoint.body), (200, "<html>"), (200, '{"keys": []}')):
        endpoint.status, endpoint.body = status, body
        runtime.time += REFRESH
        assert accepts(keys, issuer.token())
        assert runtime.run() == 1

    told = [each for each in caplog.messages if "stay as they were" in each]
    assert ["HTTP 503" in told[0], "HTTP 302" in told[1], *("no JSON Web Key Set" in each for each in told[2:])] == (
        [True] * 4
    )
    assert accepts(keys, issuer.token())


def test_a_file_of_keys_is_read_again_when_it_has_changed(
    tmp_path: Path, issuer: TokenIssuer, renewed: TokenIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    """SEC-45: at once; one that is missing or half written is told once, and the keys stay."""
    file = tmp_path / "the keys.json"
    file.write_text(issuer.key_set())
    keys = read(file.as_uri())
    assert (accepts(keys, issuer.token()), accepts(keys, renewed.token())) == (True, False)

    file.write_text(renewed.key_set())
    assert (accepts(keys, issuer.token()), accepts(keys, renewed.token())) == (False, True)
    file.write_text("half of")
    assert accepts(keys, renewed.token())
    file.unlink()
    assert [accepts(keys, renewed.token()) for _ in range(3)] == [True] * 3
    assert len(caplog.messages) == 2


def test_an_endpoint_with_an_authority_of_its_own_is_trusted_where_the_login_module_says_so(
    issuer: TokenIssuer, authority: Authority, server_context: Callable[..., ssl.SSLContext]
) -> None:
    """SEC-45: and its broker is an authenticating one, open to other machines."""
    module = f'OAuthBearerLoginModule required ssl.truststore.location="{authority.ca}";'
    with KeyEndpoint(issuer.key_set(), server_context()) as endpoint:
        properties = {**LISTENING, "listeners": "SASL_PLAINTEXT://0.0.0.0:0", URL: endpoint.url}
        with pytest.raises(ConfigError, match=r"certificate of .* is refused .* the option ssl\.truststore\.location"):
            EmbeddedCluster.start(properties, ThreadRuntime())
        given = {**properties, JAAS: module, "advertised.listeners": "SASL_PLAINTEXT://localhost:0"}
        with closing(EmbeddedCluster.start(given, ThreadRuntime())) as cluster:
            [listener] = cluster.broker.settings.listeners

    assert listener.authenticates


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({URL: "http://127.0.0.1:9/keys"}, r"http://127\.0\.0\.1:9/keys does not answer \(Connection refused\)"),
        ({URL: "file:///nowhere/keys"}, "file:///nowhere/keys cannot be read: No such file"),
        ({URL: "/etc/keys"}, "begins with none of https://, http:// and file:///"),
        ({JAAS: "OAuthBearerLoginModule required unsecuredLoginStringClaim_sub='a';"}, "is not served"),
        ({JAAS: "OAuthBearerLoginModule required ssl.truststore.type='JKS';"}, "ssl.truststore.type is PEM"),
        ({"sasl.oauthbearer.jwt.validator.class": "ClientJwtValidator"}, "must be one of"),
    ],
)
def test_a_broker_that_cannot_check_tokens_does_not_start(
    tmp_path: Path, issuer: TokenIssuer, changed: dict[str, str], message: str
) -> None:
    """SEC-45: with one sentence that names the property."""
    file = tmp_path / "keys"
    file.write_text(issuer.key_set())
    with pytest.raises(ConfigError, match=message):
        EmbeddedCluster.start({**LISTENING, URL: file.as_uri(), **changed}, ThreadRuntime())


def test_signed_tokens_without_their_package_are_refused_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(token_validation, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'eosfw-memory\[oauth\]'"):
        EmbeddedCluster.start({**LISTENING, URL: "http://127.0.0.1:9/keys"}, ThreadRuntime())
