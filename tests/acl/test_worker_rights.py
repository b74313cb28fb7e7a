"""What a worker of a group needs beside the rights of its connectors, and what it says without (ACL-05)."""

from __future__ import annotations

import logging

import pytest
from tests.herder.worker_groups import Workers

from authorized_kafka import Acl, AuthorizedKafka, credentials
from eosfw.config.connector import SOURCE_CONNECTOR
from eosfw.errors import EosfwError
from eosfw.runtime import acl_plan, worker_config
from pytest_eos.environment.clusters.cluster import Cluster

from .test_rights import acls

pytestmark = pytest.mark.parametrize(
    ("cluster_kind", "backend"),
    [
        ("embedded", "memory"),
        pytest.param("kafka", "confluent", marks=[pytest.mark.kafka, pytest.mark.nightly]),
        pytest.param("kafka", "kafka-python", marks=[pytest.mark.kafka, pytest.mark.nightly]),
    ],
)
TIMEOUTS = {"session_timeout_ms": "6000", "heartbeat_interval_ms": "500", "rebalance_timeout_ms": "10000"}
CONNECTOR = SOURCE_CONNECTOR.parse({"name": "c", "connector.class": "counting", "tasks.max": "2"})


def group_of(kafka: AuthorizedKafka, backend: str) -> tuple[Workers, set[Acl]]:
    """A group whose workers log in as `worker`, and the rights that are planned for them and their connector."""
    group = Workers(Cluster(kafka.bootstrap_servers, properties=credentials("worker")), backend, **TIMEOUTS)
    config = worker_config({"group.id": group.name, "exactly.once.source.support": "enabled"})
    return group, acls(acl_plan(config, CONNECTOR, [group.topic]))


def test_the_planned_rights_are_enough_for_a_group_of_workers(authorized: AuthorizedKafka, backend: str) -> None:
    """ACL-05: two workers, of which one leads."""
    group, planned = group_of(authorized, backend)
    authorized.grant(planned)

    with group:
        group.start("a")
        group.start("b")
        group.put(2)
        group.until_shared(1, 1)
        assert group.failures() == []


@pytest.mark.parametrize(
    ("resource", "name", "operation"),
    [
        ("group", "{group}", "Read"),
        ("transactional-id", "connect-cluster-{group}", "Write"),
        *(
            ("topic", f"{{group}}-{topic}", operation)
            for topic in ("configs", "status", "members")
            for operation in ("Create", "Read", "Write")
        ),
    ],
)
def test_a_worker_that_lacks_a_planned_right_says_which_one(
    authorized: AuthorizedKafka,
    backend: str,
    caplog: pytest.LogCaptureFixture,
    resource: str,
    name: str,
    operation: str,
) -> None:
    """ACL-05: once, not at each attempt; it does not start where it could not join, else the grant heals it."""
    group, planned = group_of(authorized, backend)
    name = name.format(group=group.name)
    missing = Acl("worker", resource.upper().replace("-", "_"), name, operation.upper())
    assert missing in planned
    authorized.grant(planned - {missing})
    caplog.set_level(logging.WARNING)
    raised = []

    def said() -> list[str]:
        needed = f"{resource.replace('-', ' ')} '{name}'"
        texts = [*map(str, raised), *(one.getMessage() for one in caplog.records)]
        return [one for one in texts if f"{operation} " in one and needed in one and "kafka-acls.sh" in one]

    with group:
        try:
            group.start("a")
            group.put(2)
        except EosfwError as why:
            raised.append(why)
        group.until(lambda: bool(said()), f"a sentence about {missing}")
        if group.workers:
            authorized.grant({missing})
            group.put(2)
            group.until_shared(2)

    repeated = [one.getMessage() for one in caplog.records if "goes on trying" in one.msg]
    assert len(repeated) == len(set(repeated))
