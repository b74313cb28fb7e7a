"""Offer clusters on which nobody may do anything until it is granted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from authorized_kafka import AuthorizedKafka
from eosfw.runtime.fencing import leader


@pytest.fixture(scope="session")
def embedded_with_acls() -> Iterator[AuthorizedKafka]:
    """An embedded broker that checks rights."""
    broker = AuthorizedKafka.embed()
    yield broker
    broker.stop()


@pytest.fixture
def authorized(request: pytest.FixtureRequest, cluster_kind: str) -> Iterator[AuthorizedKafka]:
    """A cluster of a kind, with no rights granted to anybody."""
    if cluster_kind == "kafka":
        yield request.getfixturevalue("secured")
        return
    # A leader that may not write asks for some seconds whether another one has taken its place; there is none.
    request.getfixturevalue("monkeypatch").setattr(leader, "CLAIM_PAUSES", (0.0,))
    broker = request.getfixturevalue("embedded_with_acls")
    yield broker
    broker.revoke_everything()
