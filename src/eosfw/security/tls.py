"""The TLS context of a client, made of its security properties."""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path
from typing import Final

from eosfw.config.security import SecuritySettings
from eosfw.errors import ConfigError, Problem
from eosfw.security.pkcs12 import authorities_pem, key_and_chain_pem

_SYSTEM_BUNDLES: Final = (
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-bundle.crt",
    "/etc/ssl/certs/ca-certificates.crt",
    "/usr/local/share/certs/ca-root-nss.crt",
    "/etc/ssl/cert.pem",
)
"""Where librdkafka looks, for a Python that knows no authorities: what one client trusts the other does not refuse."""


def client_context(settings: SecuritySettings) -> ssl.SSLContext:
    """A context that verifies brokers as the properties say; ConfigError names the file that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = settings.checks_host_name and settings.verifies_certificate
    if not settings.verifies_certificate:
        context.verify_mode = ssl.CERT_NONE
    if settings.ciphers:
        _set_ciphers(context, settings.ciphers)
    _load_authorities(context, settings)
    load_client_certificate(context, settings)
    return context


def require_usable_files(settings: SecuritySettings) -> None:
    """Raise ConfigError that names the file of keys or certificates that a client with TLS could not use."""
    if settings.protocol.tls:
        client_context(settings)


def authorities(settings: SecuritySettings) -> str:
    """Where the authorities come from that a client trusts, in words."""
    if location := settings.ca_location or settings.truststore_location:
        return f"the file {location}"
    return (
        "the certificates of ssl.truststore.certificates" if settings.ca_pem else "this machine's store of authorities"
    )


def load_client_certificate(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    """Load the client's own key and certificate, if it has one."""
    if settings.keystore_location:
        _load_pem(context, key_and_chain_pem(settings.keystore_location, settings.keystore_password), "")
    elif settings.certificate_pem:
        _load_pem(context, f"{settings.key_pem}\n{settings.certificate_pem}", settings.key_password)
    elif settings.certificate_location:
        _load_chain(context, settings.certificate_location, settings.key_location, settings.key_password)


def _set_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    try:
        context.set_ciphers(ciphers.replace(",", ":"))
    except ssl.SSLError:
        what = f"ssl.cipher.suites: OpenSSL knows none of {ciphers}; name them as `openssl ciphers` does"
        raise ConfigError(Problem("", what)) from None


def _load_authorities(context: ssl.SSLContext, settings: SecuritySettings) -> None:
    location, text = settings.ca_location, settings.ca_pem
    if settings.truststore_location:
        text = authorities_pem(settings.truststore_location, settings.truststore_password)
    try:
        if location and Path(location).is_dir():
            context.load_verify_locations(capath=location)
        elif location:
            context.load_verify_locations(cafile=location)
        elif text:
            context.load_verify_locations(cadata=text)
        else:
            _load_system_authorities(context)
    except ssl.SSLError:
        what = f"{location or 'ssl.truststore.certificates'} holds no certificate in PEM"
        raise ConfigError(Problem("", what)) from None
    except OSError as why:
        what = f"ssl.ca.location: {location} cannot be read: {why.strerror}"
        raise ConfigError(Problem("", what)) from None


def _load_system_authorities(context: ssl.SSLContext) -> None:
    context.load_default_certs()
    if context.cert_store_stats()["x509_ca"]:
        return
    for bundle in filter(os.path.isfile, _SYSTEM_BUNDLES):
        context.load_verify_locations(cafile=bundle)


def _load_pem(context: ssl.SSLContext, text: str, password: str) -> None:
    # Python's ssl takes keys from files alone. mkstemp() makes one that only this user can read.
    number, name = tempfile.mkstemp(suffix=".pem")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
        _load_chain(context, name, name, password, "ssl.keystore.key")
    finally:
        Path(name).unlink()


def _load_chain(context: ssl.SSLContext, certificate: str, key: str, password: str, named: str = "") -> None:
    asked: list[None] = []

    def key_password() -> str:
        asked.append(None)
        return password

    try:
        # Without an answer OpenSSL would ask for a password on the terminal.
        context.load_cert_chain(certificate, key, key_password)
    except ssl.SSLError as why:
        files = named or " and ".join(dict.fromkeys((certificate, key)))
        raise ConfigError(Problem("", f"{files}: {_load_failure(why, password, encrypted=bool(asked))}")) from None
    except OSError as why:
        unread = next((one for one in (certificate, key) if not os.access(one, os.R_OK)), certificate)
        raise ConfigError(Problem("", f"ssl.certificate.location: {unread} cannot be read: {why.strerror}")) from None


def _load_failure(why: ssl.SSLError, password: str, *, encrypted: bool) -> str:
    if why.reason == "KEY_VALUES_MISMATCH":
        return "the key is that of another certificate"
    if encrypted:
        return "ssl.key.password is not the key's" if password else "the key is encrypted: set ssl.key.password"
    return "no certificate and its key in PEM"
