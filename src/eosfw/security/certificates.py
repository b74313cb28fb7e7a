"""What is wrong with a broker's certificate, in words."""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from eosfw.config.security import SecuritySettings
from eosfw.errors import SslAuthenticationError
from eosfw.security.tls import authorities, load_client_certificate

_NOT_YET_VALID: Final = 9
_EXPIRED: Final = 10
_HOST_NAME: Final = 62
_IP_ADDRESS: Final = 64
_NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's `X509_V_FLAG_NO_CHECK_TIME`, which Python's `ssl` has no name for."""
Certificate = Mapping[str, Any]
"""A certificate as `SSLSocket.getpeercert` gives it."""
Connect = Callable[[ssl.SSLContext], ssl.SSLSocket]
"""Opens one more connection to the broker, with TLS."""


def refused_certificate(
    why: ssl.SSLCertVerificationError, settings: SecuritySettings, where: str, host: str, connect: Connect
) -> SslAuthenticationError:
    """The error about a certificate that was refused; looks at that certificate by connections that trust it."""
    found = _presented(settings, connect)
    subject, issuer = _name(found.get("subject", ())), _name(found.get("issuer", ()))
    head = f"the certificate of {where}"
    if why.verify_code in (_HOST_NAME, _IP_ADDRESS):
        names = ", ".join(value for kind, value in found.get("subjectAltName", ())) or subject
        return SslAuthenticationError(
            f"{head} is for {names}, not for {host}: write one of its names in bootstrap.servers and in the broker's "
            "advertised.listeners, or have a certificate made for this one; "
            "ssl.endpoint.identification.algorithm=none would accept any name"
        )
    if why.verify_code in (_EXPIRED, _NOT_YET_VALID):
        return SslAuthenticationError(f"{head} ({subject}) {_validity(found, why.verify_code)}")
    origin = "signed by itself" if subject == issuer else f"of the authority {issuer}"
    return SslAuthenticationError(
        f"{head} ({subject}) is {origin}, which is not in {authorities(settings)} ({why.verify_message}): "
        f"set ssl.truststore.location (with ssl.truststore.type=PEM) or ssl.ca.location to the authority's certificate"
    )


def _validity(found: Certificate, code: int) -> str:
    if code == _NOT_YET_VALID:
        return f"is valid from {found.get('notBefore', 'a later time')} on only: is this machine's clock right?"
    until = str(found.get("notAfter", ""))
    if until and ssl.cert_time_to_seconds(until) > time.time():
        return "is still valid, but one of its chain has expired: the broker's keystore needs a new chain"
    return f"expired on {until or 'an earlier day'}: the broker's keystore needs a new one"


def _presented(settings: SecuritySettings, connect: Connect) -> Certificate:
    """The certificate that the broker presents; empty if it does not do so again."""
    try:
        unverified = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        load_client_certificate(unverified, settings)
        with connect(unverified) as connection:
            encoded = connection.getpeercert(binary_form=True)
        # Python decodes only what it has verified: so the certificate itself is trusted, at any time.
        anchored = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        anchored.check_hostname = False
        anchored.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
        anchored.load_verify_locations(cadata=encoded or b"")
        load_client_certificate(anchored, settings)
        with connect(anchored) as connection:
            return connection.getpeercert() or {}
    except (OSError, ValueError):
        return {}


def _name(parts: Sequence[Sequence[tuple[str, str]]]) -> str:
    """A distinguished name, by its common name if it has one."""
    fields = {kind: value for part in parts for kind, value in part}
    common = fields.get("commonName") or fields.get("organizationName")
    return repr(common) if common else ", ".join(f"{kind}={value}" for kind, value in fields.items()) or "unknown"
