"""Name who a client is. Kafka's `DefaultKafkaPrincipalBuilder`, without mapping rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

ANONYMOUS: Final = "User:ANONYMOUS"
"""Whoever did not say who he is."""
_SHORT: Final = {
    "commonName": "CN",
    "countryName": "C",
    "domainComponent": "DC",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
    "streetAddress": "STREET",
    "userId": "UID",
}
_EMAIL: Final = "1.2.840.113549.1.9.1"
_IA5_STRING: Final = 0x16
_LONG_FORM: Final = 0x80
"""From this length on DER writes the count of the length's bytes first, with this bit."""
_SPECIAL: Final = re.compile(r'[,=+<>#;"\\]|^ +| +$')
_Rdn: TypeAlias = Sequence[tuple[str, str]]


def user(name: str) -> str:
    """The principal of a name that was proved."""
    return f"User:{name}"


def name_of(principal: str) -> str:
    """The name in a principal. Kafka's `KafkaPrincipal.getName`."""
    return principal.partition(":")[2]


def principal_of_certificate(certificate: Mapping[str, Any] | None) -> str:
    """The principal of the owner of a certificate, as Python's `getpeercert` shows it; ANONYMOUS without one."""
    # A certificate may have an empty subject, for its names stand elsewhere: Kafka's principal has an empty name then.
    return user(_rfc2253(certificate["subject"])) if certificate else ANONYMOUS


def _rfc2253(subject: Iterable[_Rdn]) -> str:
    """A distinguished name as Java shows it: the last part first."""
    parts = ["+".join(_attribute(kind, value) for kind, value in rdn) for rdn in subject]
    return ",".join(reversed(parts))


def _attribute(kind: str, value: str) -> str:
    if kind == "emailAddress":  # RFC 2253 has no name for it, so its number and its bytes in DER stand there
        text = value.encode()
        return f"{_EMAIL}=#{bytes((_IA5_STRING, *_der_length(len(text)))).hex()}{text.hex()}"
    return f"{_SHORT.get(kind, kind)}={_escaped(value)}"


def _der_length(length: int) -> bytes:
    if length < _LONG_FORM:
        return bytes((length,))
    digits = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((_LONG_FORM | len(digits), *digits))


def _escaped(value: str) -> str:
    return _SPECIAL.sub(lambda found: "".join(f"\\{each}" for each in found.group()), value)
