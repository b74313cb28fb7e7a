"""OAUTHBEARER at the broker, token by token."""

from __future__ import annotations

import pytest

from eosfw_memory.server.security.access_tokens import UnsecuredTokenValidator
from eosfw_memory.server.security.oauthbearer_server import OAuthBearerServer
from eosfw_memory.server.security.sasl_server import SaslAuthenticationError, SaslError
from token_endpoint import unsecured_token

NOW = 1_000_000.0


def server(**options) -> OAuthBearerServer:
    return OAuthBearerServer(UnsecuredTokenValidator(wall=lambda: NOW, **options))


def message(token: str, before: str = "n,,", behind: str = "") -> bytes:
    return f"{before}\x01auth=Bearer {token}\x01{behind}\x01".encode()


def claims(**changed) -> str:
    return unsecured_token(**{"iat": NOW - 5, "exp": NOW + 60, **changed})


@pytest.mark.parametrize("around", [{}, {"before": "n,a=shop,"}, {"behind": "x=1\x01"}])
def test_a_token_that_lasts_tells_who_its_client_is_and_how_long(around):
    """SEC-31."""
    begun = server()

    assert begun.evaluate_response(message(claims(), **around)) == b""
    assert (begun.complete, begun.authorization_id, begun.expires_at) == (True, "shop", NOW + 60)


@pytest.mark.parametrize(
    "token",
    [
        claims(exp=NOW),
        claims(iat=NOW + 1),
        claims(exp="tomorrow"),
        claims(exp=True),
        claims(exp=float("inf")),
        claims(exp=10**400),
        claims(sub=""),
        claims(sub=None),
        claims() + "c2ln",
        claims().replace("eyJhbGciOiAibm9uZSJ9", "eyJhbGciOiAiUlMyNTYifQ"),
        "e30.e30",
        "W10.W10.",
        "[.[.",
        "",
    ],
)
def test_a_token_that_is_not_accepted_is_refused_as_kafka_does_at_the_next_message(token):
    """SEC-31: RFC 7628, 3.2.2."""
    begun = server()

    assert begun.evaluate_response(message(token)) == b'{"status":"invalid_token"}'
    with pytest.raises(SaslAuthenticationError, match="invalid_token"):
        begun.evaluate_response(b"\x01")
    assert not begun.complete


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\xff",
        b"n,,\x01\x01",
        message(claims(), "y,,"),
        message(claims()).replace(b"Bearer", b"Basic"),
        message(claims(), "n,a=other,"),
        message(claims(), behind="1=x\x01"),
        b"n,,\x01" + b"a=" * 100_000,
    ],
)
def test_a_message_that_is_no_token_ends_the_exchange(sent):
    """SEC-31."""
    begun = server()
    with pytest.raises(SaslError):
        begun.evaluate_response(sent)

    assert not begun.complete


def test_whoever_was_refused_cannot_try_another_token_in_the_same_exchange():
    """SEC-31."""
    begun = server()
    begun.evaluate_response(message("wrong"))
    with pytest.raises(SaslError):
        begun.evaluate_response(message(claims()))

    assert not begun.complete


def test_clocks_may_differ_as_the_options_say_and_the_name_may_be_in_another_claim():
    """SEC-31."""
    begun = server(clock_skew=2.0, principal_claim="azp")
    begun.evaluate_response(message(claims(exp=NOW - 1, azp="other")))

    assert begun.authorization_id == "other"
