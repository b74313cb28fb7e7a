"""The properties of OAUTHBEARER: the names of Kafka 4.1, those before, and librdkafka's."""

from __future__ import annotations

import pytest

from eosfw.config.secrets import secret_values
from eosfw.config.security import OAuthBearerSettings, canonical, layered, security_settings
from eosfw.errors import ConfigError

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{PACKAGE}.OAuthBearerLoginModule"
SHARED = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
    "sasl.oauthbearer.token.endpoint.url": "https://id.example.org/token",
}
KAFKA = {
    **SHARED,
    "sasl.oauthbearer.client.credentials.client.id": "shop",
    "sasl.oauthbearer.client.credentials.client.secret": "s3cret",
    "sasl.oauthbearer.scope": "orders",
    "sasl.oauthbearer.jwt.retriever.class": f"{PACKAGE}.ClientCredentialsJwtRetriever",
    "sasl.jaas.config": f'{MODULE} required extension_cluster="one";',
}
BEFORE = {
    **SHARED,
    "sasl.login.callback.handler.class": f"{PACKAGE}.OAuthBearerLoginCallbackHandler",
    "sasl.jaas.config": f"{MODULE} required clientId=shop clientSecret=s3cret scope='orders' extension_cluster=one;",
}
LIBRDKAFKA = {
    **SHARED,
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "shop",
    "sasl.oauthbearer.client.secret": "s3cret",
    "sasl.oauthbearer.scope": "orders",
    "sasl.oauthbearer.extensions": "cluster=one",
}


@pytest.mark.parametrize("given", [KAFKA, BEFORE, LIBRDKAFKA])
def test_each_librarys_names_mean_the_same(given: dict[str, str]) -> None:
    """SEC-30."""
    assert security_settings(given).oauthbearer == OAuthBearerSettings(
        token_endpoint="https://id.example.org/token",
        client_id="shop",
        client_secret="s3cret",
        scope="orders",
        extensions=(("cluster", "one"),),
    )
    assert "s3cret" not in repr(security_settings(given))


@pytest.mark.parametrize("given", [KAFKA, BEFORE, LIBRDKAFKA])
def test_the_secret_is_one_wherever_properties_are_shown(given: dict[str, str]) -> None:
    """SEC-13: in answers of the REST interface, in output and logs."""
    assert any("s3cret" in text for text in secret_values(given))
    assert not any("s3cret" in text for text in given.values() if text not in secret_values(given))


def test_another_mechanism_needs_none_of_them() -> None:
    assert security_settings({**KAFKA, "sasl.mechanism": "PLAIN"}).oauthbearer == OAuthBearerSettings()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": ""}, "it must read https://HOST/PATH"),
        ({"sasl.oauthbearer.token.endpoint.url": "file:///etc/passwd"}, "it must read https://HOST/PATH"),
        ({"sasl.oauthbearer.client.credentials.client.secret": ""}, "needs sasl.oauthbearer.client.credentials.client"),
        ({"sasl.oauthbearer.method": "default"}, "by client credentials alone: leave it out, or say oidc"),
        ({"sasl.login.callback.handler.class": "com.example.Handler"}, "by client credentials alone"),
        ({"sasl.oauthbearer.extensions": "cluster"}, "it must read NAME=VALUE"),
        ({"https.ca.location": "a", "https.ca.pem": "b"}, "give one of https.ca.location, https.ca.pem"),
        ({"sasl.jaas.config": f'{MODULE} required clientId="other";'}, "sasl.jaas.config and sasl.oauthbearer.client"),
        ({"sasl.jaas.config": f'{MODULE} required s3cret="x";'}, "of its options this client knows clientId"),
    ],
)
def test_what_cannot_be_is_refused_without_the_secret(changed: dict[str, str], why: str) -> None:
    """SEC-30, SEC-13."""
    with pytest.raises(ConfigError) as refused:
        security_settings({**KAFKA, **changed})

    assert why in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_an_address_with_a_password_in_it_is_refused() -> None:
    """SEC-13: the address of the endpoint stands in messages."""
    with pytest.raises(ConfigError) as refused:
        canonical({"sasl.oauthbearer.token.endpoint.url": "https://shop:s3cret@id.example.org/token"})

    assert "s3cret" not in str(refused.value)


def test_a_connectors_own_client_replaces_that_of_the_worker() -> None:
    own = {"sasl.oauthbearer.client.id": "mine", "sasl.oauthbearer.client.secret": "two"}

    found = security_settings(layered(KAFKA, own)).oauthbearer

    assert (found.client_id, found.client_secret, found.scope) == ("mine", "two", "orders")
