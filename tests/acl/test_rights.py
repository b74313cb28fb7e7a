"""What a group needs of a cluster with ACLs, and what happens without it (ACL-01..04, SCN-02)."""

from __future__ import annotations

from contextlib import closing

import pytest
from tests.kip618.group import Group, Served, exactly

from authorized_kafka import ADMIN, Acl, AuthorizedKafka, credentials
from eosfw.cli.acl.probes import AclProbes, probe_all
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.errors import EosfwError
from eosfw.runtime.checks.acl_plan import AclBinding, Holder, acl_plan
from eosfw.runtime.status import TaskState

pytestmark = pytest.mark.parametrize(
    ("cluster_kind", "backend"),
    [
        ("embedded", "memory"),
        ("embedded", "confluent"),
        pytest.param("kafka", "confluent", marks=pytest.mark.kafka),
        pytest.param("kafka", "kafka-python", marks=pytest.mark.kafka),
    ],
)
RECORDS = 20
PROPERTIES = {"streams": "2", "tasks_max": "2", "until": str(RECORDS), "batch": "5"}


def group_of(kafka: AuthorizedKafka, backend: str, user: str = "worker") -> Group:
    """A worker that logs in as a user."""
    return Group(Served(kafka.bootstrap_servers, backend), properties=credentials(user))


def plan_of(group: Group, name: str = "c") -> list[AclBinding]:
    connector = {"name": name, "connector.class": "counting", "tasks.max": "2"}
    return acl_plan(group.config, SOURCE_CONNECTOR.parse(connector), [group.topic])


def acls(bindings: list[AclBinding], user: str = "worker") -> set[Acl]:
    return {
        Acl(user, one.resource.name, one.name, operation.upper(), one.prefixed)
        for one in bindings
        for operation in one.operations
    }


def run(group: Group) -> str:
    """Run two generations to their ends; the second fences and reads offsets. What went wrong, in one text."""
    try:
        with group:
            for _ in range(2):
                group.put(**PROPERTIES)
                group.until(lambda: group.worker.drained(60) or bool(group.worker.status().failures), "the end")
                if failures := group.worker.status().failures:
                    return " ".join(str(task.error) for task in failures)
            return ""
    except EosfwError as error:
        return str(error)


def committed(kafka: AuthorizedKafka, group: Group) -> list[bytes]:
    """What a reader with all rights sees."""
    reader = Group(Served(kafka.bootstrap_servers, "kafka-python"), group.name, properties=credentials(ADMIN))
    try:
        return reader.committed()
    finally:
        reader.backend.close()


def test_the_planned_rights_are_enough(authorized: AuthorizedKafka, backend: str) -> None:
    """ACL-01, ACL-02, ACL-03: a worker that may do this and nothing else creates its topics and runs."""
    group = group_of(authorized, backend)
    authorized.grant(acls(plan_of(group)))

    assert run(group) == ""
    assert committed(authorized, group) == exactly(2, RECORDS)


def test_a_check_misses_none_of_the_planned_rights(authorized: AuthorizedKafka, backend: str) -> None:
    """ACL-03: a right to read a group is none to describe each topic whose offsets it might have."""
    group = group_of(authorized, backend)
    plan = plan_of(group)
    authorized.grant(acls(plan))

    with closing(group.backend.admin()) as admin:
        rows = probe_all(AclProbes(group.backend, admin), plan)
        group.backend.close()

    assert [row for row in rows if row["answer"] == "missing"] == []
    assert "group" in {row["resource"] for row in rows}


def test_a_prefix_of_transactional_ids_is_enough(authorized: AuthorizedKafka, backend: str) -> None:
    """ACL-02: `--prefixed`, so that the number of tasks may grow."""
    group = group_of(authorized, backend)
    connector = SOURCE_CONNECTOR.parse({"name": "c", "connector.class": "counting"})
    authorized.grant(acls(acl_plan(group.config, connector, [group.topic], prefixed=True)))

    assert run(group) == ""
    assert committed(authorized, group) == exactly(2, RECORDS)


@pytest.mark.parametrize(
    ("resource", "name", "operations"),
    [
        ("TRANSACTIONAL_ID", "connect-cluster-{group}", ("WRITE", "DESCRIBE")),
        ("TRANSACTIONAL_ID", "{group}-c-1", ("WRITE", "DESCRIBE")),
        ("TOPIC", "{group}-configs", ("READ",)),
        ("TOPIC", "{group}-configs", ("WRITE",)),
        ("TOPIC", "{group}-offsets", ("READ",)),
        ("TOPIC", "{group}-offsets", ("WRITE",)),
        ("TOPIC", "{group}-offsets", ("READ", "WRITE", "DESCRIBE")),
        ("TOPIC", "{group}-counts", ("WRITE",)),
        ("TOPIC", "{group}-counts", ("CREATE",)),
    ],
)
def test_each_planned_right_is_needed(
    authorized: AuthorizedKafka, backend: str, resource: str, name: str, operations: tuple[str, ...]
) -> None:
    """ACL-01, ACL-02, ACL-03, TPC-05: without it something fails, and names what it may not use."""
    group = group_of(authorized, backend)
    missing = {Acl("worker", resource, name.format(group=group.name), operation) for operation in operations}
    planned = acls(plan_of(group))
    assert missing <= planned
    authorized.grant(planned - missing)

    error = run(group)

    # librdkafka does not say which topic could not be added to a transaction.
    unnamed = backend == "confluent" and resource == "TOPIC" and operations == ("WRITE",) and "configs" not in name
    assert (f"{group.name}-c-" if unnamed else name.format(group=group.name)) in error
    assert "authoriz" in error.lower()
    assert ("Task failed to create new topic (name=" in error) is (operations == ("CREATE",))
    if operations == ("CREATE",):
        assert f"User:worker needs Create on the topic '{group.topic}'" in error


def test_a_connector_that_may_not_fence_fails_alone_until_it_may(authorized: AuthorizedKafka, backend: str) -> None:
    """ACL-04, SCN-02: its first start needs no fencing; others go on; a grant and a restart heal it."""
    group = group_of(authorized, backend)
    authorized.grant(acls(plan_of(group)) | acls(plan_of(group, "other")))
    fencer = acls([one for one in plan_of(group) if one.holder is Holder.ADMIN], "fencer")
    fencing = {one for one in fencer if one.resource == "TRANSACTIONAL_ID"}
    authorized.grant(fencer - fencing)
    limited = {f"admin.override.{name}": text for name, text in credentials("fencer").items()}

    with group:
        group.put(**PROPERTIES, **limited)
        group.until_drained()
        other = {"connector.class": "counting", "topic": group.topic, "tasks.max": "2", "streams": "2", "until": "1"}
        group.worker.put_connector("other", other)
        group.until_drained()

        group.put(**PROPERTIES, **limited)
        group.until(lambda: states(group, "c") == {TaskState.FAILED}, "tasks that cannot start")
        errors = " ".join(str(task.error) for task in group.worker.status().connectors["c"].tasks)
        assert "earlier producers could not be fenced" in errors
        assert f"{group.name}-c-" in errors
        assert states(group, "other") == {TaskState.RUNNING}
        group.worker.put_connector("other", other)
        group.until(lambda: states(group, "other") == {TaskState.RUNNING}, "the other connector, fenced and running")

        authorized.grant(fencing)
        group.put(**PROPERTIES, **limited)
        group.until_drained()
        assert states(group, "c") == {TaskState.RUNNING}


def states(group: Group, connector: str) -> set[TaskState]:
    return {task.state for task in group.worker.status().connectors[connector].tasks}
