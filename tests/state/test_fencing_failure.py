"""Which failed fencings are asked for again, and which ACLs the others lack."""

from __future__ import annotations

import pytest

from eosfw.errors import (
    ClusterAuthorizationError,
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    ConfigError,
    IndefiniteOutcomeError,
    InvalidTransactionTimeoutError,
    NotLeaderError,
    PrivilegedWriteError,
    RebalanceNeededError,
    TopicAuthorizationError,
    TransactionalIdAuthorizationError,
)
from eosfw.state.fencing.failure import may_pass, missing_acls


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ClusterUnavailableError("no answer"), True),
        (ConcurrentTransactionsError("still ending"), True),
        (IndefiniteOutcomeError("no answer"), True),
        (NotLeaderError("another worker leads", None), True),
        (PrivilegedWriteError("another leader came"), True),
        (RebalanceNeededError("soon"), True),
        (ClusterAuthorizationError("no"), False),
        (ConfigError(), False),
        (InvalidTransactionTimeoutError("too long"), False),
        (TransactionalIdAuthorizationError("no"), False),
        (ValueError("a bug"), False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_fencing_is_asked_for_again_only_if_it_failed_for_a_passing_reason(error: Exception, *, passes: bool) -> None:
    assert may_pass(error) is passes


def test_a_privilege_lost_for_want_of_an_acl_is_lost_for_good() -> None:
    """Claiming it again would meet the same refusal for ever."""
    error = PrivilegedWriteError("could not write")
    error.__cause__ = TopicAuthorizationError("configs")
    assert not may_pass(error)


def test_missing_acls_are_named_with_resource_and_operations() -> None:
    denied, away = TransactionalIdAuthorizationError("no"), ClusterUnavailableError("away")

    assert missing_acls({"g-c-0": denied, "g-c-1": away, "g-c-2": denied}) == (
        "WRITE and DESCRIBE on TransactionalId g-c-0, g-c-2"
    )
    assert missing_acls({"g-c-0": ClusterAuthorizationError("no")}) == "IDEMPOTENT_WRITE on Cluster kafka-cluster"
    assert missing_acls({"g-c-0": away}) is None
