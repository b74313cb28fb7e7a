"""The rights that a group and a connector need, by resource (ACL-01..03)."""

from __future__ import annotations

import pytest

from eosfw import Config
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.config.worker import WORKER
from eosfw.runtime.checks.acl_plan import AclBinding, Holder, Resource, acl_plan, merged


def worker(support: str = "enabled") -> Config:
    return WORKER.parse({"group.id": "team", "exactly.once.source.support": support})


def connector(**properties: str) -> Config:
    given = {"name": "orders", "connector.class": "file", "tasks.max": "2", **properties}
    known = {name: text for name, text in given.items() if name in SOURCE_CONNECTOR.keys}
    return Config(SOURCE_CONNECTOR.parse(known), given)


def rights(plan: list[AclBinding], holder: Holder) -> set[tuple[str, str, str]]:
    return {
        (one.resource.value, one.name + "*" * one.prefixed, operation)
        for one in plan
        for operation in one.operations
        if one.holder is holder and not one.only_if_absent
    }


@pytest.mark.parametrize(("support", "needed"), [("disabled", False), ("preparing", True), ("enabled", True)])
def test_a_worker_needs_the_leaders_id_where_the_leader_writes_in_transactions(support: str, *, needed: bool) -> None:
    """ACL-01."""
    found = rights(acl_plan(worker(support), connector()), Holder.WORKER)
    leaders = {("transactional-id", "connect-cluster-team", operation) for operation in ("Write", "Describe")}

    assert (leaders <= found) is needed
    assert {right for right in found if right[0] == "transactional-id"} == (leaders if needed else set())


def test_a_worker_needs_its_group_and_its_groups_topics() -> None:
    """ACL-01."""
    found = rights(acl_plan(worker("disabled"), connector()), Holder.WORKER)

    assert found == {
        ("group", "team", "Read"),
        *(("topic", f"team-{what}", how) for what in ("configs", "status", "members") for how in ("Read", "Write")),
        ("topic", "team-offsets", "Read"),
    }


def test_a_connectors_clients_need_their_ids_and_topics_each() -> None:
    """ACL-02, ACL-03."""
    plan = acl_plan(worker(), connector(topic="orders"), ["orders", "refunds"])
    ids = {("transactional-id", f"team-orders-{task}", how) for task in (0, 1) for how in ("Write", "Describe")}

    assert rights(plan, Holder.PRODUCER) == ids | {
        ("topic", topic, "Write") for topic in ("orders", "refunds", "team-offsets")
    }
    assert rights(plan, Holder.CONSUMER) == {("topic", "team-offsets", "Read")}
    assert rights(plan, Holder.ADMIN) == ids | {
        ("topic", topic, "Describe") for topic in ("orders", "refunds", "team-offsets")
    }


@pytest.mark.parametrize("support", ["disabled", "preparing"])
def test_without_exactly_once_tasks_have_no_transactional_ids(support: str) -> None:
    """ACL-02."""
    plan = acl_plan(worker(support), connector(topic="orders"))

    assert not [one for one in plan if one.resource is Resource.TRANSACTIONAL_ID and one.holder is not Holder.WORKER]


def test_a_prefix_stands_for_all_ids_of_a_connector() -> None:
    """ACL-02."""
    plan = acl_plan(worker(), connector(), prefixed=True)

    assert {right[1] for right in rights(plan, Holder.PRODUCER) if right[0] == "transactional-id"} == {"team-orders-*"}


def test_an_offsets_topic_of_its_own_takes_the_place_of_the_groups() -> None:
    """ACL-02, ACL-03: the worker copies its offsets to the group's topic."""
    plan = acl_plan(worker(), connector(**{"offsets.storage.topic": "own"}))

    assert ("topic", "own", "Read") in rights(plan, Holder.CONSUMER)
    assert ("topic", "own", "Write") in rights(plan, Holder.PRODUCER)
    assert not any("team-offsets" in right for right in rights(plan, Holder.PRODUCER))
    assert ("topic", "team-offsets", "Write") in rights(plan, Holder.WORKER)


def test_topics_need_to_be_created_only_while_they_are_absent() -> None:
    """ACL-03."""
    created = {one.name for one in acl_plan(worker(), connector(topic="t")) if one.only_if_absent}

    assert created == {"team-configs", "team-status", "team-members", "team-offsets", "t"}


def test_operations_on_one_resource_are_one_entry() -> None:
    one = AclBinding(Holder.WORKER, Resource.TOPIC, "t", ("Read",), "a")
    other = AclBinding(Holder.WORKER, Resource.TOPIC, "t", ("Write", "Read"), "b")

    assert merged([one, other]) == [AclBinding(Holder.WORKER, Resource.TOPIC, "t", ("Read", "Write"), "a")]
