"""Which right a client lacks, and the call of Kafka's own tool that grants it."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast

from eosfw.config.security import SecurityProtocol, SecuritySettings
from eosfw.errors import (
    ClusterUnavailableError,
    EosfwError,
    GroupAuthorizationError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)
from eosfw.ids import TopicPartition
from eosfw.security.first_authentication import FirstAuthentication

_REFUSALS: Final[Mapping[str, type[EosfwError]]] = {
    "topic": TopicAuthorizationError,
    "group": GroupAuthorizationError,
    "transactional-id": TransactionalIdAuthorizationError,
}
_QUESTION: Final = re.compile(r"[;:] is the cluster running.*$")
_PLAN: Final = "eosfw acl plan CONNECTOR --config FILE --commands"
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Authenticated(Protocol):
    """A client that knows who it is."""

    @property
    def authentication(self) -> FirstAuthentication:
        """Its first authentication."""


_ClientT = TypeVar("_ClientT", bound=Authenticated)
_Method = Callable[Concatenate[_ClientT, _P], _T]


def kafka_acls_command(
    servers: str, principal: str, operations: Sequence[str], resource: str, *names: str, prefixed: bool = False
) -> str:
    """The call of `kafka-acls.sh` that allows a principal these operations."""
    words = ["kafka-acls.sh", "--bootstrap-server", servers, "--add", "--allow-principal", principal]
    for operation in operations:
        words += ["--operation", operation]
    for name in names:
        words += [f"--{resource}", name]
    if prefixed:
        words += ["--resource-pattern-type", "prefixed"]
    return shlex.join(words)


def principal_of(settings: SecuritySettings) -> str | None:
    """Whom Kafka takes a client for; None if a certificate or a ticket says that, by rules that only brokers know."""
    if settings.protocol.sasl:
        return f"User:{settings.username}" if settings.username else None
    own = settings.certificate_location or settings.certificate_pem or settings.keystore_location
    return None if settings.protocol is SecurityProtocol.SSL and own else "User:ANONYMOUS"


def needs(
    resource: str, *operations: str, names: str | Callable[..., Iterable[str]] | None = None
) -> Callable[[_Method[_ClientT, _P, _T]], _Method[_ClientT, _P, _T]]:
    """Decorate a method of a client whose call needs these operations on a `topic`, `group` or `transactional-id`.

    If the cluster refuses, the error says who lacks which right, and the command that grants it; also an error that is
    the outcome of one name in a mapping. `names` is the attribute of the client with what the resources are called, or
    gives that from the arguments of the call; by default the first argument names them.
    """

    def decorate(method: _Method[_ClientT, _P, _T]) -> _Method[_ClientT, _P, _T]:
        @functools.wraps(method)
        def call(self: _ClientT, *args: _P.args, **kwargs: _P.kwargs) -> _T:
            def with_right(why: EosfwError, asked: Iterable[str]) -> EosfwError:
                return explained(why, self.authentication, operations, resource, tuple(asked))

            try:
                found = method(self, *args, **kwargs)
            except ClusterUnavailableError as why:
                raise with_refusal(why, self.authentication) from why.__cause__
            except _REFUSALS[resource] as why:
                if callable(names):
                    asked = names(self, *args, **kwargs)
                else:
                    asked = _names(args[0] if names is None else getattr(self, names))
                raise with_right(why, asked) from why.__cause__
            if isinstance(found, Mapping) and any(isinstance(one, _REFUSALS[resource]) for one in found.values()):
                outcomes = {
                    name: with_right(one, [name]) if isinstance(one, _REFUSALS[resource]) else one
                    for name, one in found.items()
                }
                return cast("_T", outcomes)
            return found

        return cast("_Method[_ClientT, _P, _T]", call)

    return decorate


def group_of_offsets(_client: object, _offsets: object, group: Any, *_more: object) -> Sequence[str]:
    """The group that a call of `send_offsets` names, for `needs`."""
    return (group.group_id,)


def with_refusal(why: ClusterUnavailableError, authentication: FirstAuthentication) -> ClusterUnavailableError:
    """The error of a cluster that does not answer, with the reason if it is known to refuse this client now.

    It stays retriable: once a client was let in, what is refused may pass.
    """
    refusal = authentication.refusal()
    # Where the error is one of a call within the call, or a connection's own refusal, it says so already.
    known = refusal is None or refusal in str(why)
    return why if known else ClusterUnavailableError(f"{_QUESTION.sub('', str(why))}; {refusal}")


def explained(
    why: EosfwError, authentication: FirstAuthentication, operations: Sequence[str], resource: str, names: Sequence[str]
) -> EosfwError:
    """The error of a missing right with who lacks it, and the command that grants it; any other error as it is."""
    if not isinstance(why, _REFUSALS[resource]) or _PLAN in str(why):
        return why
    principal = principal_of(authentication.settings)
    command = kafka_acls_command(
        authentication.servers, principal or "User:PRINCIPAL", operations, resource, *(names or ("NAME",))
    )
    shown = ", ".join(map(repr, names)) or "what it names"
    who, said = principal or "The principal of this client", str(why).rstrip(" .:")
    return type(why)(
        f"{said}. {who} needs {' and '.join(operations)} on the {resource.replace('-', ' ')} {shown}: "
        f"{command} ({_PLAN} lists all that a connector needs)"
    )


def _names(argument: Any) -> list[str]:
    if isinstance(argument, str):
        return [argument]
    topics = (one.topic if isinstance(one, TopicPartition) else getattr(one, "name", one) for one in argument)
    return list(dict.fromkeys(topics))
