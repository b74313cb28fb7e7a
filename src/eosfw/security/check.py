"""One connection to a broker, as far as authentication goes, to tell what is wrong with the security properties."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Final

from eosfw.config.addresses import Address
from eosfw.config.security import SecuritySettings
from eosfw.errors import SslAuthenticationError
from eosfw.security.certificates import refused_certificate
from eosfw.security.foreign_protocol import first_bytes, is_kafka, is_tls, protocol_of
from eosfw.security.requests import BrokerConnection
from eosfw.security.sasl import authenticate, require_no_sasl
from eosfw.security.tls import client_context

_DISAGREEMENTS: Final = ("NO_SHARED_CIPHER", "UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "HANDSHAKE_FAILURE")
_CERTIFICATE: Final = "CERTIFICATE"
_ALERT: Final = "ALERT"
_ALERT_WAIT: Final = 0.5


def check_connection(address: Address, settings: SecuritySettings, timeout: float) -> None:
    """Connect as the settings say, and log in; no request that needs rights is sent.

    AuthenticationError if broker and client do not fit: it says what was found, and what to change. OSError if that
    cannot be told: nobody listens, no answer came within `timeout` seconds for each step, the connection ended.
    """
    _Check(address, settings, timeout).run()


class _Check:
    def __init__(self, address: Address, settings: SecuritySettings, timeout: float) -> None:
        self._address = address
        self._settings = settings
        self._timeout = timeout
        self._where = str(address)

    def run(self) -> None:
        with self._opened() as connection:
            broker = BrokerConnection(connection)
            try:
                if self._settings.protocol.sasl:
                    authenticate(broker, self._settings, self._where)
                else:
                    require_no_sasl(broker, self._settings, self._where)
            except (ssl.SSLError, ConnectionError) as why:
                raise self._refused_by_broker(why) or self._late_alert() or why from None

    @contextlib.contextmanager
    def _opened(self) -> Iterator[socket.socket]:
        if self._settings.protocol.tls:
            with self._handshake() as connection:
                yield connection
            return
        with self._connected() as connection:
            answer = first_bytes(connection, self._timeout)
        if is_tls(answer):
            raise SslAuthenticationError(f"{self._where} {protocol_of(answer)}")
        if not answer:
            raise TimeoutError(f"{self._where} does not answer")
        with self._connected() as connection:
            yield connection

    def _handshake(self) -> ssl.SSLSocket:
        context = client_context(self._settings)
        try:
            return self._wrapped(context)
        except ssl.SSLCertVerificationError as why:
            raise refused_certificate(why, self._settings, self._where, self._address.host, self._wrapped) from None
        except ssl.CertificateError as why:
            raise SslAuthenticationError(f"the certificate of {self._where} is refused: {why}") from None
        except (ssl.SSLError, ConnectionError) as why:
            raise self._no_tls() or self._refused_by_broker(why) or why from None

    def _wrapped(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        plain = self._connected()
        try:
            return context.wrap_socket(plain, server_hostname=self._address.host)
        except BaseException:
            plain.close()
            raise

    def _connected(self) -> socket.socket:
        return socket.create_connection(self._address, timeout=self._timeout)

    def _late_alert(self) -> SslAuthenticationError | None:
        """The error about a broker's alert after the handshake.

        With TLS 1.3 a broker looks at the client's certificate after the client's part of the handshake, and a request
        that crosses its alert may end the connection before the alert is read. So no request is sent here.
        """
        if not self._settings.protocol.tls:
            return None
        try:
            with self._handshake() as connection:
                connection.settimeout(_ALERT_WAIT)
                connection.recv(1)
        except OSError as why:
            return self._refused_by_broker(why)
        return None

    def _no_tls(self) -> SslAuthenticationError | None:
        """The error about a listener that speaks another protocol; a broker without TLS only closes the connection."""
        try:
            with self._connected() as connection:
                answer = first_bytes(connection)
        except OSError:
            return None
        if is_kafka(answer):
            without = "SASL_PLAINTEXT" if self._settings.protocol.sasl else "PLAINTEXT"
            what = f"speaks Kafka without TLS: name a listener with TLS, or set security.protocol={without}"
            return SslAuthenticationError(f"{self._where} {what}")
        foreign = None if is_tls(answer) else protocol_of(answer)
        return SslAuthenticationError(f"{self._where} {foreign}") if foreign else None

    def _refused_by_broker(self, why: OSError) -> SslAuthenticationError | None:
        """The error about an alert of the broker; any other alert, such as an internal error, may pass."""
        reason = (why.reason or "").upper() if isinstance(why, ssl.SSLError) else ""
        if (_ALERT in reason and _CERTIFICATE in reason) or "UNKNOWN_CA" in reason:
            own = self._settings
            given = own.certificate_location or own.keystore_location or ("given" if own.certificate_pem else "")
            what = (
                f"the broker at {self._where} refused this client's certificate ({given}): it must be signed by an "
                "authority in the broker's ssl.truststore.location, and be valid"
                if given
                else f"the broker at {self._where} requires a certificate of its clients: set ssl.keystore.location "
                "(type PEM or PKCS12), or ssl.certificate.location and ssl.key.location"
            )
            return SslAuthenticationError(f"{what} (TLS: {reason.lower().replace('_', ' ')})")
        if any(word in reason for word in _DISAGREEMENTS):
            what = (
                "the two share no version or cipher of TLS (ssl.cipher.suites), or the broker requires a certificate "
                "of its clients (ssl.keystore.location)"
            )
            return SslAuthenticationError(f"TLS handshake with {self._where}: {what} ({reason.lower()})")
        return None
