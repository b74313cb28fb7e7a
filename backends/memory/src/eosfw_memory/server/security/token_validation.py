"""Which tokens a listener accepts, by its properties. Kafka's `OAuthBearerValidatorCallbackHandler`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from eosfw.concurrency import ThreadRuntime
from eosfw.config import Choice, ConfigDef, Int, List, String
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.access_tokens import TokenValidator, UnsecuredTokenValidator
from eosfw_memory.server.security.login_module import login_options

OAUTHBEARER: Final = "OAUTHBEARER"
JWKS_URL: Final = "sasl.oauthbearer.jwks.endpoint.url"
_MODULE: Final = "OAuthBearerLoginModule"
_HANDLER: Final = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
_VALIDATOR: Final = "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator"
_PRINCIPAL_CLAIM: Final = "unsecuredValidatorPrincipalClaimName"
_CLOCK_SKEW: Final = "unsecuredValidatorAllowableClockSkewMs"
_AUTHORITIES: Final = "ssl.truststore.location"
_AUTHORITIES_TYPE: Final = "ssl.truststore.type"
SIGNED_TOKENS: Final = ConfigDef(
    String(JWKS_URL, default=None,
        doc="where the public keys of the tokens' provider are, `https://`, `http://` or `file://`; without it "
        "OAUTHBEARER accepts tokens that nobody has signed, for tests"),
    Int("sasl.oauthbearer.jwks.endpoint.refresh.ms", default=3_600_000, at_least=1,
        doc="how old the keys of an endpoint may be; a file is read again when it has changed"),
    Int("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", default=10_000, at_least=0,
        doc="for a key that is not there the endpoint is asked again, at most once in so long"),
    List("sasl.oauthbearer.expected.audience", default=(), doc="whom tokens are for: one of these"),
    String("sasl.oauthbearer.expected.issuer", default=None, doc="who issues them; without it, whoever has the key"),
    Int("sasl.oauthbearer.clock.skew.seconds", default=30, at_least=0, doc="how much clocks may differ"),
    String("sasl.oauthbearer.sub.claim.name", default="sub", doc="the claim that names the user"),
    Choice("sasl.server.callback.handler.class", default="", among=("", _HANDLER),
        doc="which Kafka needs for signed tokens; here the address of the keys is enough"),
    Choice("sasl.oauthbearer.jwt.validator.class", default="", among=("", _VALIDATOR),
        doc="which Kafka 4.1.1 needs as well: its default looks at no signature"),
)  # fmt: skip
"""The properties of tokens that somebody has signed, by Kafka's names."""


def parse_token_validator(key: str, line: str | None, config: Mapping[str, Any]) -> TokenValidator:
    """Who decides about the tokens of a listener; raise ConfigError. The key is that of the line of JAAS."""
    if config[JWKS_URL] is not None:
        return _signed(key, line, config)
    if line is None:
        say = f"name the keys of signed tokens by {JWKS_URL}; to accept tokens that nobody has signed, for tests:"
        raise ConfigError(Problem(key, f"it is missing; {say} {_MODULE} required;"))
    options = _options(key, line, _PRINCIPAL_CLAIM, _CLOCK_SKEW)
    skew = options.get(_CLOCK_SKEW, "0")
    if not skew.isdecimal():
        raise ConfigError(Problem(key, f"{_CLOCK_SKEW} is a number of milliseconds"))
    return UnsecuredTokenValidator(options.get(_PRINCIPAL_CLAIM, "sub"), int(skew) / 1000)


def _signed(key: str, line: str | None, config: Mapping[str, Any]) -> TokenValidator:
    url = config[JWKS_URL]
    if not url.startswith(("https://", "http://", "file:///")):
        raise ConfigError(Problem(JWKS_URL, f"{url!r} begins with none of https://, http:// and file:///"))
    if find_spec("joserfc") is None:
        say = "signed tokens need the package joserfc: pip install 'eosfw-memory[oauth]'"
        raise ConfigError(Problem(JWKS_URL, say))
    options = {} if line is None else _options(key, line, _AUTHORITIES, _AUTHORITIES_TYPE)
    if options.get(_AUTHORITIES_TYPE, "PEM") != "PEM":
        raise ConfigError(Problem(key, f"{_AUTHORITIES_TYPE} is PEM"))
    from eosfw_memory.server.security.json_web_keys import JsonWebKeys, JsonWebKeysConfig, JsonWebKeysError
    from eosfw_memory.server.security.signed_tokens import ExpectedClaims, SignedTokenValidator

    keys = JsonWebKeysConfig(
        url=url,
        refresh=config["sasl.oauthbearer.jwks.endpoint.refresh.ms"] / 1000,
        backoff=config["sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms"] / 1000,
        ca_location=options.get(_AUTHORITIES, ""),
    )
    expected = ExpectedClaims(
        audience=frozenset(config["sasl.oauthbearer.expected.audience"]),
        issuer=config["sasl.oauthbearer.expected.issuer"],
        principal_claim=config["sasl.oauthbearer.sub.claim.name"],
        clock_skew=config["sasl.oauthbearer.clock.skew.seconds"],
    )
    try:
        return SignedTokenValidator(JsonWebKeys(keys, ThreadRuntime()), expected)
    except JsonWebKeysError as why:
        raise ConfigError(Problem(JWKS_URL, str(why))) from None


def _options(key: str, line: str, *served: str) -> Mapping[str, str]:
    options = login_options(key, OAUTHBEARER, _MODULE, line)
    if unknown := options.keys() - set(served):
        raise ConfigError(Problem(key, f"the option {min(unknown)} is not served; there are {' and '.join(served)}"))
    return options
