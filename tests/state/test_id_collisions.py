"""Which other users would share a transactional id (TXN-01)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import ConnectorTaskId, leader_transactional_id, task_transactional_id
from eosfw.state.fencing.id_collisions import TransactionalIdUser, colliding_users


@pytest.mark.parametrize(
    ("transactional_id", "group", "others"),
    [
        ("a-b-c-0", "a", [TransactionalIdUser("a-b", "c", 0)]),
        ("a-b-c-0", "a-b", [TransactionalIdUser("a", "b-c", 0)]),
        ("g-c-0", "g", []),
        ("a-b-c-07", "a", []),
        ("a-b-c-00", "a", []),
        ("a--0", "g", []),
        ("-a-0", "g", []),
        ("a+b-c-0", "g", [TransactionalIdUser("a+b", "c", 0)]),
        (
            "connect-cluster-x-0",
            "connect",
            [TransactionalIdUser("connect-cluster", "x", 0), TransactionalIdUser("x-0")],
        ),
        (
            "connect-cluster-x-0",
            "x-0",
            [TransactionalIdUser("connect", "cluster-x", 0), TransactionalIdUser("connect-cluster", "x", 0)],
        ),
        ("connect-cluster-g", "g", []),
    ],
)
def test_all_users_that_share_a_transactional_id_are_found(transactional_id, group, others):
    """TXN-01: a task's as a task's, a task's as a leader's, a leader's as a task's."""
    assert colliding_users(transactional_id, group) == others


NAMES = st.text("ab-0", min_size=1, max_size=5) | st.sampled_from(["connect", "connect-cluster", "cluster-a", "a-0"])


def id_of(user: TransactionalIdUser) -> str:
    if user.connector is None:
        return leader_transactional_id(user.group_id)
    return task_transactional_id(user.group_id, ConnectorTaskId(user.connector, user.task))


USERS = st.builds(TransactionalIdUser, NAMES, NAMES | st.none(), st.integers(0, 12))


@given(USERS, USERS)
def test_colliding_users_are_exactly_those_of_equal_ids(one, other):
    """TXN-01: exactly those whose ids are equal, whatever the names."""
    one, other = (user if user.connector else TransactionalIdUser(user.group_id) for user in (one, other))
    same = id_of(one) == id_of(other) and one.group_id != other.group_id

    assert (other in colliding_users(id_of(one), one.group_id)) is same
    assert (one in colliding_users(id_of(other), other.group_id)) is same
    assert all(id_of(user) == id_of(one) for user in colliding_users(id_of(one), one.group_id))


def test_users_are_named_for_people():
    assert str(TransactionalIdUser("a", "b-c", 3)) == "task 3 of connector 'b-c' in group 'a'"
    assert str(TransactionalIdUser("x-0")) == "the leader of group 'x-0'"
