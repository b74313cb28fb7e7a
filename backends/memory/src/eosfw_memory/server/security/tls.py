"""Make the TLS context of a listener from PEM files or texts. Kafka's `DefaultSslEngineFactory`."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.tls_alert import AlertingContext

CLIENT_AUTH: Final = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsConfig:
    """The properties `ssl.*` of one listener."""

    keystore: str | None
    """The path of a file with a private key, its certificate, and the authorities between."""
    chain: str | None = field(repr=False)
    """The certificates as text, with `key`."""
    key: str | None = field(repr=False)
    key_password: str | None = field(repr=False)
    truststore: str | None
    authorities: str | None = field(repr=False)
    client_auth: str
    protocols: tuple[str, ...]


def server_context(config: TlsConfig, listener: str) -> ssl.SSLContext:
    """The context of a listener; raise ConfigError that names the property."""
    context = AlertingContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [VERSIONS[name] for name in config.protocols]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    _load_key(context, config, listener)
    context.verify_mode = CLIENT_AUTH[config.client_auth]
    if context.verify_mode is not ssl.CERT_NONE:
        _load_authorities(context, config, listener)
    return context


def _load_key(context: ssl.SSLContext, config: TlsConfig, listener: str) -> None:
    # A password is always given: without one OpenSSL asks for it on the terminal.
    password = (config.key_password or "").encode()
    if config.keystore is not None:
        name, what = "ssl.keystore.location", config.keystore
    elif config.chain is not None and config.key is not None:
        name, what = "ssl.keystore.certificate.chain", "with ssl.keystore.key"
    else:
        say = "say where key and certificate are by ssl.keystore.location, or give both as text"
        raise ConfigError(Problem("ssl.keystore.location", f"listener {listener} needs a certificate: {say}"))
    try:
        if config.keystore is not None:
            context.load_cert_chain(config.keystore, password=password)
        else:
            with _as_file(f"{config.key}\n{config.chain}") as path:
                context.load_cert_chain(path, password=password)
    except OSError as why:
        raise ConfigError(Problem(name, f"{what} {_load_failure(why)}")) from why


def _load_failure(why: OSError) -> str:
    if not isinstance(why, ssl.SSLError):
        return f"cannot be read: {why.strerror}"
    if why.reason == "KEY_VALUES_MISMATCH":
        return "holds a key of another certificate"
    return "holds no private key with its certificate in PEM, or ssl.key.password is not its password"


def _load_authorities(context: ssl.SSLContext, config: TlsConfig, listener: str) -> None:
    if config.truststore is None and config.authorities is None:
        say = "name the authorities of clients by ssl.truststore.location"
        why = (
            f"ssl.client.auth={config.client_auth} of listener {listener} has nothing to check certificates with: {say}"
        )
        raise ConfigError(Problem("ssl.truststore.location", why))
    name = "ssl.truststore.certificates" if config.truststore is None else "ssl.truststore.location"
    try:
        context.load_verify_locations(config.truststore, cadata=config.authorities)
    except ssl.SSLError as why:
        raise ConfigError(Problem(name, f"{config.truststore or 'it'} holds no certificates in PEM")) from why
    except OSError as why:
        raise ConfigError(Problem(name, f"{config.truststore} cannot be read: {why.strerror}")) from why


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A file that nobody else reads, for OpenSSL takes a key from files alone."""
    descriptor, path = tempfile.mkstemp()
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        yield path
    finally:
        os.unlink(path)
