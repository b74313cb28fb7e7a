"""Whether a fencing that failed may succeed later, and which ACLs are missing if it may not (KIP-618)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eosfw.errors import (
    ClusterAuthorizationError,
    EosfwError,
    IndefiniteOutcomeError,
    PrivilegedWriteError,
    RetriableError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)

_AUTHORIZATION = (TransactionalIdAuthorizationError, ClusterAuthorizationError, TopicAuthorizationError)
_PASSING = (RetriableError, IndefiniteOutcomeError, PrivilegedWriteError)
"""Errors after which the same fencing may be asked for again: to fence twice does no harm, and a leader that lost its
privilege is followed by another."""


def may_pass(error: BaseException) -> bool:
    """Whether a fencing that failed with this error is worth asking for again; never for want of an ACL."""
    return isinstance(error, _PASSING) and not lacks_right(error)


def lacks_right(error: BaseException) -> bool:
    """Whether the cluster refused for want of an ACL."""
    # Causes as well: the leader reports the refusal of its own write as a lost privilege.
    return any(isinstance(one, _AUTHORIZATION) for one in _with_causes(error))


def missing_acls(failed: Mapping[str, EosfwError]) -> str | None:
    """The ACLs without which these transactional ids could not be fenced, in Kafka's words; None if none lacks."""
    ids = [one for one, error in failed.items() if isinstance(error, TransactionalIdAuthorizationError)]
    lacking = [f"WRITE and DESCRIBE on TransactionalId {', '.join(ids)}"] if ids else []
    if any(isinstance(error, ClusterAuthorizationError) for error in failed.values()):
        lacking.append("IDEMPOTENT_WRITE on Cluster kafka-cluster")
    return "; ".join(lacking) or None


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
