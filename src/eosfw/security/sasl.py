"""The SASL exchange of a first contact, and what the broker's refusal means."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from eosfw.config.addresses import Address
from eosfw.config.oauthbearer import MECHANISM as OAUTHBEARER
from eosfw.config.security import OAuthBearerSettings, SecurityProtocol, SecuritySettings
from eosfw.errors import AuthenticationError, SaslAuthenticationError, UnsupportedSaslMechanismError
from eosfw.kafka_codes import Code
from eosfw.security.oauthbearer import TokenProvider, client_first_message, request_token
from eosfw.security.requests import BrokerConnection, SaslAuthenticateResponse
from eosfw.security.scram import ScramClient, ScramRefusedError
from eosfw.text import readable

_DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_DEFAULT_MECHANISM: Final = "GSSAPI"
"""Kafka's default of `sasl.mechanism`."""
TOKEN_WAIT: Final = 2.0
"""Seconds for a token endpoint at a first contact: asked twice, the answer is to come within 5."""
_WITHOUT_SASL: Final = {SecurityProtocol.SASL_SSL: "SSL", SecurityProtocol.SASL_PLAINTEXT: "PLAINTEXT"}
_WITH_SASL: Final = {SecurityProtocol.SSL: "SASL_SSL", SecurityProtocol.PLAINTEXT: "SASL_PLAINTEXT"}


def log_in(
    connection: socket.socket,
    settings: SecuritySettings,
    address: Address,
    tokens: TokenProvider | None = None,
    *,
    again: bool = False,
) -> float:
    """Log in on a connection to a broker; what `authenticate` raises, or OSError if the connection ends.

    Return the seconds after which the broker wants it `again` on this connection (KIP-368); 0 if never.
    """
    wait = connection.gettimeout() or TOKEN_WAIT
    token = None if tokens is None else lambda: tokens.token(wait)
    broker = BrokerConnection(connection)
    if again:
        broker.tells_lifetime = True  # as it did before; when a session is over, ApiVersions is not served
    else:
        broker.ask_for_lifetime()
    authenticate(broker, settings, str(address), token)
    return broker.session_lifetime


def authenticate(
    broker: BrokerConnection, settings: SecuritySettings, where: str, token: Callable[[], str] | None = None
) -> None:
    """Log in as the properties say; AuthenticationError if that is refused. `where` is the broker's address.

    `token` gives that of OAUTHBEARER; without it the token endpoint is asked. Of other mechanisms than PLAIN, SCRAM
    and OAUTHBEARER only the choice is tried.
    """
    mechanism = settings.mechanism or _DEFAULT_MECHANISM
    chosen = broker.sasl_handshake(mechanism)
    if chosen.error_code:
        raise _refused_mechanism(settings, where, mechanism, chosen.mechanisms)
    if mechanism == OAUTHBEARER:
        tokens = settings.oauthbearer
        _oauthbearer(broker, tokens, where, token() if token else request_token(tokens, TOKEN_WAIT).value)
        return
    if mechanism != "PLAIN" and mechanism not in _DIGESTS:
        return
    if not settings.username:
        what = f"{mechanism} needs a user: set sasl.username and sasl.password, or sasl.jaas.config"
        raise SaslAuthenticationError(f"SASL authentication at {where}: {what}")
    if mechanism == "PLAIN":
        message = f"\0{settings.username}\0{settings.password}".encode()
        _accepted(broker.sasl_authenticate(message), settings, where)
    else:
        _scram(broker, settings, where)


def require_no_sasl(broker: BrokerConnection, settings: SecuritySettings, where: str) -> None:
    """Raise UnsupportedSaslMechanismError if the listener waits for SASL, which these properties do not offer.

    It would only close the connection at the first request that needs rights.
    """
    if not broker.knows_sasl():
        return
    # A listener without SASL answers ILLEGAL_SASL_STATE, one with it names the mechanisms it takes.
    answer = broker.sasl_handshake("")
    if answer.error_code == Code.UNSUPPORTED_SASL_MECHANISM and answer.mechanisms:
        raise UnsupportedSaslMechanismError(
            f"the listener at {where} requires SASL ({', '.join(answer.mechanisms)}): "
            f"set security.protocol={_WITH_SASL[settings.protocol]} and sasl.mechanism"
        )


def _scram(broker: BrokerConnection, settings: SecuritySettings, where: str) -> None:
    client = ScramClient(_DIGESTS[settings.mechanism], settings.username, settings.password, secrets.token_hex(16))
    try:
        first = _accepted(broker.sasl_authenticate(client.first()), settings, where)
        client.verify(_accepted(broker.sasl_authenticate(client.final(first)), settings, where))
    except (ScramRefusedError, ValueError) as why:  # ValueError: what should be base64 or UTF-8 is not
        raise _refused(settings, where, str(why)) from None


def _oauthbearer(broker: BrokerConnection, tokens: OAuthBearerSettings, where: str, token: str) -> None:
    answer = broker.sasl_authenticate(client_first_message(token, tokens))
    if not answer.error_code and answer.auth_bytes:
        # RFC 7628, 3.2.3: why the token is refused; the broker waits for one more message to say that it failed.
        reason = answer.auth_bytes.decode(errors="replace")
        answer = broker.sasl_authenticate(b"\x01")
        answer = replace(answer, error_message=answer.error_message or reason)
    if answer.error_code:
        raise SaslAuthenticationError(
            f"the broker at {where} refused the token of client {tokens.client_id!r} from {tokens.token_endpoint}: "
            f"{readable(answer.error_message.rstrip('.'))}. Compare its issuer, audience, scope and signature with the "
            "broker's sasl.oauthbearer.* properties, or name the token endpoint that the broker trusts"
        )


def _accepted(answer: SaslAuthenticateResponse, settings: SecuritySettings, where: str) -> bytes:
    if answer.error_code:
        raise _refused(settings, where, answer.error_message or f"error {answer.error_code}")
    return answer.auth_bytes


def _refused(settings: SecuritySettings, where: str, sentence: str) -> AuthenticationError:
    user, mechanism = settings.username, settings.mechanism
    return SaslAuthenticationError(
        f"the broker at {where} refused user {user!r} with {mechanism}: {sentence.rstrip('.')}. Correct sasl.username "
        f"and sasl.password (or sasl.jaas.config), or give {user!r} credentials for {mechanism} on the cluster"
    )


def _refused_mechanism(
    settings: SecuritySettings, where: str, mechanism: str, offered: tuple[str, ...]
) -> AuthenticationError:
    if not offered:
        return UnsupportedSaslMechanismError(
            f"the listener at {where} takes no SASL: set security.protocol={_WITHOUT_SASL[settings.protocol]}, "
            "or name a listener with SASL"
        )
    chosen = "which is the default; " if not settings.mechanism else ""
    return UnsupportedSaslMechanismError(
        f"the broker at {where} does not take sasl.mechanism={mechanism}, {chosen}it takes "
        f"{', '.join(offered)}: set sasl.mechanism to one of them"
    )
