"""Authenticate a connection by SASL before its first request. Kafka's `SaslServerAuthenticator`.

Without sockets and clocks: a frame comes in, an answer goes out or an error is raised. Requests other than ApiVersions,
SaslHandshake and SaslAuthenticate are not even read: their schemas are of no concern to a stranger.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Final

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.network.session import Session
from eosfw_memory.server.protocol.codec import DecodedRequest, RequestError, decode
from eosfw_memory.server.protocol.routes import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from eosfw_memory.server.security.principal import user
from eosfw_memory.server.security.sasl_mechanisms import Exchanges
from eosfw_memory.server.security.sasl_server import SaslAuthenticationError, SaslError, SaslServer
from eosfw_memory.storage.records.batch import Buffer

_KEY = struct.Struct(">h")
_LENGTH = struct.Struct(">i")
_WITH_REQUESTS: Final = 1
"""The version of SaslHandshake since which tokens come in requests; before they came bare."""
_REFUSAL: Final = "Authentication failed during authentication due to invalid credentials with SASL mechanism"


class SaslState(Enum):
    """What is awaited. Kafka's `SaslServerAuthenticator.SaslState`."""

    HANDSHAKE_OR_VERSIONS_REQUEST = auto()
    HANDSHAKE_REQUEST = auto()
    AUTHENTICATE = auto()
    COMPLETE = auto()
    FAILED = auto()


EXPECTED: Final = {
    SaslState.HANDSHAKE_OR_VERSIONS_REQUEST: frozenset({API_VERSIONS, SASL_HANDSHAKE}),
    SaslState.HANDSHAKE_REQUEST: frozenset({SASL_HANDSHAKE}),
    SaslState.AUTHENTICATE: frozenset({SASL_AUTHENTICATE}),
    SaslState.COMPLETE: frozenset(),
    SaslState.FAILED: frozenset(),
}
"""The requests that are taken in each state."""


def begins_authentication(frame: Buffer) -> bool:
    """Whether a frame is a SaslHandshake."""
    return len(frame) >= _KEY.size and _KEY.unpack_from(frame)[0] == SASL_HANDSHAKE


class AuthenticationFailedError(Exception):
    """The connection ends, behind the answer if there is one."""

    def __init__(self, why: str, answer: Sequence[Buffer] = ()) -> None:
        super().__init__(why)
        self.answer = answer


class SaslServerAuthenticator:
    """The authentication of one connection."""

    def __init__(
        self,
        mechanisms: Exchanges,
        api_versions: Callable[[DecodedRequest], Answer],
        lifetime: Callable[[float | None], float | None] = lambda _: None,
        previous: Session | None = None,
    ) -> None:
        """`lifetime` gives the seconds of a session by the end of its credentials, `previous` what is renewed."""
        self._mechanisms = mechanisms
        self._api_versions = api_versions
        self._lifetime = lifetime
        self._previous = previous
        self._server: SaslServer
        self._mechanism = ""
        self._bare_tokens = False
        self.session_lifetime: float | None = None
        """Seconds, once the client is authenticated; None without an end."""
        self.state = SaslState.HANDSHAKE_OR_VERSIONS_REQUEST if previous is None else SaslState.HANDSHAKE_REQUEST

    @property
    def complete(self) -> bool:
        """Whether the client is authenticated."""
        return self.state is SaslState.COMPLETE

    @property
    def mechanism(self) -> str:
        """What the client has chosen."""
        return self._mechanism

    @property
    def principal(self) -> str:
        """Who the client is, once that is known. Kafka's `KafkaPrincipal`."""
        return user(self._server.authorization_id)

    def authenticate(self, frame: Buffer) -> Sequence[Buffer]:
        """The answer to a frame, in pieces; raise AuthenticationFailedError."""
        try:
            if self.state is SaslState.AUTHENTICATE and self._bare_tokens:
                return self._bare_token(frame)
            return self._request(frame)
        except AuthenticationFailedError:
            self.state = SaslState.FAILED
            raise

    def _request(self, frame: Buffer) -> Sequence[Buffer]:
        key = _KEY.unpack_from(frame)[0] if len(frame) >= _KEY.size else None
        if key not in EXPECTED[self.state]:
            raise AuthenticationFailedError(f"request {key} came in the state {self.state.name} of authentication")
        try:
            request = decode(frame)
        except RequestError as wrong:
            raise AuthenticationFailedError(str(wrong)) from wrong
        answers = {API_VERSIONS: self._versions, SASL_HANDSHAKE: self._handshake, SASL_AUTHENTICATE: self._token}
        return request.codec.encode(request.correlation_id, answers[key](request))

    def _versions(self, request: DecodedRequest) -> Answer:
        answer = self._api_versions(request)
        if answer["error_code"] == Code.NONE:  # else the client asks again, in a version that is served
            self.state = SaslState.HANDSHAKE_REQUEST
        return answer

    def _handshake(self, request: DecodedRequest) -> Answer:
        wanted = request.body.mechanism
        begin = self._mechanisms.get(wanted)
        if begin is None:
            answer = {"error_code": Code.UNSUPPORTED_SASL_MECHANISM, "mechanisms": tuple(self._mechanisms)}
            raise _failure(request, answer, "the client wants a SASL mechanism that is not enabled")
        self._mechanism, self._server = wanted, begin()
        self._bare_tokens = request.codec.version < _WITH_REQUESTS
        self.state = SaslState.AUTHENTICATE
        return {"error_code": Code.NONE, "mechanisms": tuple(self._mechanisms)}

    def _token(self, request: DecodedRequest) -> Answer:
        try:
            answer = self._evaluate(request.body.auth_bytes)
        except SaslError as why:
            said = str(why) if isinstance(why, SaslAuthenticationError) else self._refusal()
            refused = {"error_code": Code.SASL_AUTHENTICATION_FAILED, "error_message": said, "auth_bytes": b""}
            raise _failure(request, refused, said) from why
        lifetime = int((self.session_lifetime or 0) * 1000)
        return {"error_code": Code.NONE, "error_message": None, "auth_bytes": answer, "session_lifetime": lifetime}

    def _bare_token(self, token: Buffer) -> Sequence[Buffer]:
        try:
            answer = self._evaluate(bytes(token))
        except SaslError as why:
            raise AuthenticationFailedError(self._refusal()) from why
        return (_LENGTH.pack(len(answer)), answer)

    def _evaluate(self, token: bytes) -> bytes:
        before = self._previous
        if before is not None and before.mechanism != self._mechanism:
            raise SaslAuthenticationError(
                f"SASL mechanism '{self._mechanism}' requested by client is not supported for re-authentication of "
                f"mechanism '{before.mechanism}'"
            )
        answer = self._server.evaluate_response(token)
        if self._server.complete:
            if before is not None and before.principal != self.principal:
                raise SaslAuthenticationError(
                    f"Cannot change principals during re-authentication from {before.principal}: {self.principal}"
                )
            self.session_lifetime = self._lifetime(self._server.expires_at)
            self.state = SaslState.COMPLETE
        return answer

    def _refusal(self) -> str:
        # The reason stays here: it would tell, for instance, whether there is such a user.
        return f"{_REFUSAL} {self._mechanism}"


def _failure(request: DecodedRequest, answer: Answer, why: str) -> AuthenticationFailedError:
    return AuthenticationFailedError(why, request.codec.encode(request.correlation_id, answer))
