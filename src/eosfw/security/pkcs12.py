"""Keys and certificates of PKCS#12 files, as PEM texts."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eosfw.config.named_file import read_bytes
from eosfw.errors import ConfigError, Problem


def authorities_pem(location: str, password: str) -> str:
    """The certificates of a trust store."""
    found = _load("ssl.truststore", location, password)
    certificates = [one.certificate for one in found.additional_certs]
    if found.cert is not None:
        certificates.append(found.cert.certificate)
    if not certificates:
        raise ConfigError(Problem("", f"ssl.truststore.location: {location} holds no certificate"))
    return _pem(certificates)


def key_and_chain_pem(location: str, password: str) -> str:
    """The key of a key store, without password, followed by its certificate and that one's chain."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    found = _load("ssl.keystore", location, password)
    if found.key is None or found.cert is None:
        raise ConfigError(Problem("", f"ssl.keystore.location: {location} holds no key with its certificate"))
    key: str = found.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    chain = [found.cert.certificate, *(one.certificate for one in found.additional_certs)]
    return key + _pem(chain)


def _pem(certificates: Iterable[Any]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return "".join(one.public_bytes(Encoding.PEM).decode() for one in certificates)


def _load(prefix: str, location: str, password: str) -> Any:
    try:
        data = read_bytes(Path(location))
    except OSError as why:
        raise ConfigError(Problem("", f"{prefix}.location: {location} cannot be read: {why.strerror}")) from None
    try:
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        what = f"{prefix}.location: a PKCS#12 file needs a package: pip install cryptography; or give a PEM file"
        raise ConfigError(Problem("", what)) from None
    try:
        return load_pkcs12(data, password.encode() or None)
    except ValueError:
        what = f"{prefix}.location: {location} is no PKCS#12 file, or {prefix}.password is not its password"
        raise ConfigError(Problem("", what)) from None
