"""Which failed fencings are asked for again, and which ACLs the others lack."""

from __future__ import annotations

import pytest

from eosfw.errors import (
    ClusterAuthorizationError,
    ClusterUnavailableError,
    ConcurrentTransactionsError,
    ConfigError,
    EosfwError,
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
    "error",
    [
        ClusterUnavailableError("no answer"),
        ConcurrentTransactionsError("still ending"),
        IndefiniteOutcomeError("no answer"),
        NotLeaderError("another worker leads", None),
        PrivilegedWriteError("another leader came"),
        RebalanceNeededError("soon"),
    ],
)
def test_a_fencing_that_failed_for_a_passing_reason_may_pass(error: EosfwError) -> None:
    assert may_pass(error)


@pytest.mark.parametrize(
    "error",
    [
        ClusterAuthorizationError("no"),
        ConfigError(),
        InvalidTransactionTimeoutError("too long"),
        TransactionalIdAuthorizationError("no"),
        ValueError("a bug"),
    ],
)
def test_a_fencing_that_failed_for_good_is_not_asked_for_again(error: Exception) -> None:
    assert not may_pass(error)


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
