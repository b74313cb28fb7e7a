"""The mechanism OAUTHBEARER (RFC 7628): one token, or why it is refused. Kafka's `OAuthBearerSaslServer`."""

from __future__ import annotations

import json
import logging
import re
from typing import Final

from eosfw_memory.server.security.access_tokens import InvalidTokenError, TokenValidator
from eosfw_memory.server.security.sasl_server import SaslAuthenticationError, SaslError

_LOG = logging.getLogger(__name__)
_MESSAGE: Final = re.compile("n,(?:a=([^,\x00]*))?,\x01((?:[A-Za-z]+=[^\x00\x01]*\x01)+)\x01")
_INVALID: Final = json.dumps({"status": "invalid_token"}, separators=(",", ":"))
_ABORT: Final = b"\x01"


class OAuthBearerServer:
    """Takes a token; if it is refused, says so, and fails at the client's next message."""

    def __init__(self, validator: TokenValidator) -> None:
        self._validator = validator
        self._refused = False
        self.complete = False
        self.authorization_id = ""
        self.expires_at: float | None = None

    def evaluate_response(self, token: bytes) -> bytes:
        if self._refused:
            if token != _ABORT:
                raise SaslError("what follows a refused token is %x01 alone")
            raise SaslAuthenticationError(_INVALID)
        found = _MESSAGE.fullmatch(token.decode(errors="replace"))
        if found is None:
            raise SaslError("Invalid OAUTHBEARER client first message")
        scheme, _, value = _pairs(found[2]).get("auth", "").partition(" ")
        if scheme.lower() != "bearer":
            raise SaslError("Invalid scheme in OAUTHBEARER client first message")
        try:
            valid = self._validator.validate(value.strip())
        except InvalidTokenError as why:
            # Only here: RFC 7628 has a status for the client, no reason.
            _LOG.info("a token was refused: %s", why)
            self._refused = True
            return _INVALID.encode()
        if found[1] and found[1] != valid.principal:
            raise SaslAuthenticationError(
                "Authentication failed: Client requested an authorization id that is different from the token's "
                "principal name"
            )
        self.authorization_id, self.expires_at = valid.principal, valid.expires_at
        self.complete = True
        return b""


def _pairs(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in text.split("\x01") if part)}
