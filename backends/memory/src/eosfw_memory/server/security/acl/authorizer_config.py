"""Make a broker's authorizer from its properties. Kafka's `StandardAuthorizer.configure`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from eosfw.config import Boolean, Choice, ConfigDef, String
from eosfw.errors import ConfigError, Problem
from eosfw_memory.server.security.acl.standard_authorizer import StandardAuthorizer

AUTHORIZER_CLASS: Final = "authorizer.class.name"
SUPER_USERS: Final = "super.users"
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ALLOW: Final = "allow.everyone.if.no.acl.found"
AUTHORIZER: Final = ConfigDef(
    Choice(AUTHORIZER_CLASS, default="", among=("", STANDARD_AUTHORIZER),
        doc="who decides what principals may do; empty: everybody may do everything"),
    String(SUPER_USERS, default="", may_be_empty=True,
        doc="who may do everything, `User:NAME`, several with semicolons between"),
    Boolean(_ALLOW, default=False, doc="whether everybody may use a resource that no access rule is about"),
)  # fmt: skip


def parse_authorizer(properties: Mapping[str, str]) -> StandardAuthorizer | None:
    """The authorizer without any rules, or None without `authorizer.class.name`; raise ConfigError."""
    config = AUTHORIZER.parse({name: text for name, text in properties.items() if name in AUTHORIZER.keys})
    users = [each for each in map(str.strip, config[SUPER_USERS].split(";")) if each]
    if wrong := [each for each in users if ":" not in each]:
        raise ConfigError(Problem(SUPER_USERS, f"{wrong[0]!r} is no principal; write User:{wrong[0]}"))
    if not config[AUTHORIZER_CLASS]:
        return None
    return StandardAuthorizer(users, allow_if_no_acl=config[_ALLOW])
