"""An identity provider's keys, and tokens signed with them: for the embedded broker and for a real Kafka."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from joserfc import jws
from joserfc.jwk import ECKey, KeySet, RSAKey

from eosfw.concurrency import ThreadRuntime

AUDIENCE = "kafka"
ISSUER = "https://id.example.org/realms/shop"


@dataclass(frozen=True, slots=True)
class TokenIssuer:
    """Signs with one RSA key and one EC key, `rsa` and `ec`."""

    rsa: RSAKey
    ec: ECKey

    @classmethod
    def make(cls) -> Self:
        """One with new keys."""
        rsa = RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
        return cls(rsa, ECKey.generate_key("P-256", {"kid": "ec", "use": "sig", "alg": "ES256"}))

    @classmethod
    def read(cls, path: Path) -> Self:
        """The one that `save` wrote."""
        rsa, ec = json.loads(path.read_text())
        return cls(RSAKey.import_key(rsa), ECKey.import_key(ec))

    def save(self, path: Path) -> None:
        """Write the private keys, for other processes of the test run."""
        path.write_text(json.dumps([each.as_dict(private=True) for each in (self.rsa, self.ec)]))

    def key_set(self) -> str:
        """The public keys, as an endpoint gives them."""
        return json.dumps(KeySet([self.rsa, self.ec]).as_dict(private=False))

    def token(self, algorithm: str = "RS256", header: dict[str, object] | None = None, **changed: object) -> str:
        """A token for an hour; a claim that is changed to None is left out."""
        key: Any = self.rsa if algorithm.startswith(("RS", "PS")) else self.ec
        return signed(key, algorithm, {"kid": key.kid, **(header or {})}, **changed)


def signed(key: Any, algorithm: str, header: dict[str, object], **changed: object) -> str:
    """A token that any key has signed."""
    text = json.dumps(claims(**changed)).encode()
    return jws.serialize_compact({"alg": algorithm, **header}, text, key, algorithms=[algorithm])


def claims(**changed: object) -> dict[str, object]:
    """Those of a token for an hour."""
    now = int(ThreadRuntime().wall())
    given = {"sub": "shop", "aud": AUDIENCE, "iss": ISSUER, "iat": now - 60, "exp": now + 3600, **changed}
    return {name: value for name, value in given.items() if value is not None}
