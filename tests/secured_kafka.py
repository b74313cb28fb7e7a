"""A real Kafka behind TLS, SASL and ACLs on 127.0.0.1, with a throw-away authority."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import trustme
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from authorized_kafka import Acl, granted
from eosfw.config.addresses import parse_addresses
from eosfw.config.security import security_settings
from eosfw.errors import AuthenticationError
from eosfw.security import check_connection
from real_kafka import QUICK, Listener, RealKafka
from token_issuer import AUDIENCE, ISSUER, TokenIssuer

PASSWORD = "correct-horse"
"""Of each user, and of what has a password."""
USERS = ("alice", "bob")
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_OAUTHBEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
"""Without options it takes tokens that nobody has signed."""
_TOKENS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
"""Takes tokens that are signed with a key of a JSON Web Key Set."""
_VALIDATOR = "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
_WAIT = 30.0
_AUTHORITY_KEY = "ca-key.pem"
_ISSUER = "issuer.json"


@dataclass(frozen=True, slots=True)
class Authority:
    """The files of an authority, and of what it has signed."""

    folder: Path
    signs: trustme.CA

    @classmethod
    def make(cls, folder: Path, name: str = "eosfw's test authority") -> Self:
        """A new authority."""
        folder.mkdir(parents=True, exist_ok=True)
        made = cls(folder, trustme.CA(organization_name=name))
        made.signs.cert_pem.write_to_path(str(made.ca))
        made.signs.private_key_pem.write_to_path(str(folder / _AUTHORITY_KEY))
        return made

    @classmethod
    def of(cls, other: Path, folder: Path) -> Self:
        """The authority of another folder, which writes what it signs to this one."""
        folder.mkdir(parents=True, exist_ok=True)
        certificate, key = (other / "ca.pem").read_bytes(), (other / _AUTHORITY_KEY).read_bytes()
        (folder / "ca.pem").write_bytes(certificate)
        if (other / _ISSUER).exists():
            (folder / _ISSUER).write_bytes((other / _ISSUER).read_bytes())
        return cls(folder, trustme.CA.from_pem(certificate, key))

    @property
    def ca(self) -> Path:
        """Its own certificate, in PEM."""
        return self.folder / "ca.pem"

    def issue(self, file: str, *names: str) -> Path:
        """A PEM file with a key, in PKCS#8 as Java reads it, and its certificate for these names."""
        subject = {"organization_name": "eosfw", "organization_unit_name": "tests"}
        issued = self.signs.issue_cert(*names, common_name=names[0], **subject)
        key = load_pem_private_key(issued.private_key_pem.bytes(), None)
        path = self.folder / file
        chain = b"".join(one.bytes() for one in issued.cert_chain_pems)
        path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)
        return path

    @staticmethod
    def subject(name: str) -> str:
        """The principal that Kafka makes of a certificate, without `User:`."""
        return f"CN={name},OU=tests,O=eosfw"


class SecuredKafka:
    """One node with the listeners PLAINTEXT (for the administrator), SASL_SSL, SSL (client certificates), TOKENS."""

    def __init__(self, listeners: Mapping[str, str], authority: Authority, node: RealKafka | None = None) -> None:
        self._node = node
        self.authority = authority
        self.listeners = listeners
        self.plain, self.sasl_ssl, self.mutual = (listeners[name] for name in ("PLAINTEXT", "SASL_SSL", "SSL"))

    @classmethod
    def start(cls, folder: Path, java_options: tuple[str, ...] = QUICK) -> Self:
        """Serve a fresh node with the users `alice` and `bob`, who may do nothing yet."""
        authority = Authority.make(folder / "authority")
        keystore = authority.issue("broker.pem", "127.0.0.1")
        issuer, keys = TokenIssuer.make(), authority.folder / "keys.json"
        issuer.save(authority.folder / _ISSUER)
        keys.write_text(issuer.key_set())
        users = " ".join(f'user_{name}="{PASSWORD}"' for name in USERS)
        properties = {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keystore),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(authority.ca),
            "listener.name.ssl.ssl.client.auth": "required",
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_PLAIN} required {users};",
            "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM} required;",
            "listener.name.sasl_ssl.oauthbearer.sasl.jaas.config": f"{_OAUTHBEARER} required;",
            **token_properties("tokens", keys, f"{_OAUTHBEARER} required;"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "connection.failed.authentication.delay.ms": "0",
        }
        protocols = {"SASL_SSL": "SASL_SSL", "SSL": "SSL", "TOKENS": "SASL_PLAINTEXT"}
        listeners = {name: Listener(protocol) for name, protocol in protocols.items()}
        # Since 4.0 Kafka reads keys and tokens from nowhere else.
        allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={keys.as_uri()}"
        java = (*java_options, allowed)
        node = RealKafka.start(folder / "node", properties, java_options=java, listeners=listeners)
        started = cls({"PLAINTEXT": node.bootstrap_servers, **node.listeners}, authority, node)
        for user in USERS:
            started._set_password(user, PASSWORD, "SCRAM_SHA_256", "SCRAM_SHA_512")
        return started

    @property
    def issuer(self) -> TokenIssuer:
        """Whose tokens the listener TOKENS accepts."""
        return TokenIssuer.read(self.authority.folder / _ISSUER)

    def sasl(self, user: str = "alice", mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """Client properties by Kafka's names."""
        module = _PLAIN if mechanism == "PLAIN" else SCRAM
        return {
            "bootstrap.servers": self.sasl_ssl,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} required username="{user}" password="{PASSWORD}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority.ca),
        }

    def create_topics(self, *names: str) -> None:
        """Create topics of one partition."""
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.plain, "log_level": 0})
        for future in admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            future.result(_WAIT)

    def grant(self, *acls: Acl) -> None:
        """Allow; returns once the broker obeys."""
        granted({"bootstrap.servers": self.plain}, acls)

    def set_password(self, user: str, password: str) -> None:
        """Give a user another password for SCRAM-SHA-256; returns once new connections need it."""
        self._set_password(user, password)
        properties = {**self.sasl(user, "SCRAM-SHA-256"), "sasl.username": user, "sasl.password": password}
        del properties["sasl.jaas.config"]
        (address,) = parse_addresses(self.sasl_ssl)
        while True:
            with suppress(AuthenticationError):
                check_connection(address, security_settings(properties), _WAIT)
                return

    def stop(self) -> None:
        """End the node, unless somebody else has started it."""
        if self._node is not None:
            self._node.stop()

    def _set_password(self, user: str, password: str, *kinds: str) -> None:
        from confluent_kafka.admin import (
            AdminClient,
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        admin = AdminClient({"bootstrap.servers": self.plain, "log_level": 0})
        for kind in kinds or ("SCRAM_SHA_256",):  # one of a user in one request
            info = ScramCredentialInfo(getattr(ScramMechanism, kind), 4096)
            wanted = [UserScramCredentialUpsertion(user, info, password.encode())]
            for future in admin.alter_user_scram_credentials(wanted).values():
                future.result(_WAIT)


def token_properties(listener: str, keys: Path, jaas: str) -> dict[str, str]:
    """The properties of a broker whose listener takes tokens that are signed with these keys alone."""
    prefix = f"listener.name.{listener}"
    return {
        f"{prefix}.sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{prefix}.oauthbearer.sasl.jaas.config": jaas,
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": _TOKENS,
        # Kafka 4.1.1 has a default that looks at no signature.
        f"{prefix}.sasl.oauthbearer.jwt.validator.class": _VALIDATOR,
        f"{prefix}.sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        f"{prefix}.sasl.oauthbearer.expected.audience": AUDIENCE,
        f"{prefix}.sasl.oauthbearer.expected.issuer": ISSUER,
    }


def properties_text(properties: Mapping[str, str]) -> str:
    """The lines of a properties file."""
    return "".join(f"{name}={text}\n" for name, text in properties.items())
