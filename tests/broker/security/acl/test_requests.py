"""The requests about access rules, what becomes of the rules, and topics that a request would create."""

from __future__ import annotations

import sys
from types import SimpleNamespace as Request
from typing import Any

import pytest

from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.settings import Settings
from eosfw_memory.server.protocol.handlers.acls import create_acls, delete_acls, describe_acls
from eosfw_memory.server.protocol.handlers.configs import describe_configs, incremental_alter_configs
from eosfw_memory.server.protocol.handlers.topics import create_partitions, create_topics, delete_topics, metadata
from eosfw_memory.server.protocol.handlers.transactions import add_partitions_to_txn, list_transactions
from eosfw_memory.storage.topics.topic import CLUSTER_METADATA

from ...brokers import started

STANDARD = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root",
}
ROOT, ALICE = "User:root", "User:alice"
TOPIC, CLUSTER, READ, CREATE, DESCRIBE, ALL = 2, 4, 3, 5, 8, 2
LITERAL, PREFIXED, ANY, ALLOW = 3, 4, 1, 3


def acl(name: str = "t", operation: int = READ, **fields: Any) -> Request:
    given = {
        "resource_type": TOPIC,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": ALICE,
        "host": "*",
        "operation": operation,
        "permission_type": ALLOW,
    }
    return Request(**{**given, **fields})


def everything(**fields: Any) -> Request:
    given = {
        "resource_type_filter": ANY,
        "resource_name_filter": None,
        "pattern_type_filter": ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": ANY,
        "permission_type": ANY,
    }
    return Request(**{**given, **fields})


def new_topic(name: str) -> Request:
    return Request(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())


def properties(name: str) -> Request:
    return Request(resource_type=TOPIC, resource_name=name, configuration_keys=None, configs=())


def create(broker: Broker, *acls: Request) -> list[tuple[Code, str | None]]:
    answer: Any = broker.serve(create_acls.handle, Request(creations=acls), Context(3, principal=ROOT))
    return [(each["error_code"], each.get("error_message")) for each in answer["results"]]


def described(broker: Broker, wanted: Request | None = None, principal: str = ROOT) -> dict[str, list[int]]:
    """The operations of the rules about each name."""
    answer: Any = broker.serve(describe_acls.handle, wanted or everything(), Context(3, principal=principal))
    return {each["resource_name"]: [acl["operation"] for acl in each["acls"]] for each in answer["resources"]}


def asked(broker: Broker, name: str, principal: str = ALICE) -> Code:
    """The code of Metadata about a topic."""
    request = Request(topics=[Request(name=name, topic_id=None)], allow_auto_topic_creation=True)
    answer: Any = broker.serve(metadata.handle, request, Context(9, principal=principal))
    code: Code = answer["topics"][0]["error_code"]
    return code


def test_rules_are_created_described_and_deleted():
    """ACL-11: those about one pattern are described together; a rule that is there already is no error."""
    broker = started(properties=STANDARD)

    assert (
        create(broker, acl(), acl(operation=CREATE), acl(), acl("p", resource_pattern_type=PREFIXED))
        == [(Code.NONE, None)] * 4
    )
    assert create(broker, acl()) == [(Code.NONE, None)]
    assert described(broker) == {"t": [READ, CREATE], "p": [READ]}
    assert described(broker, everything(operation=CREATE)) == {"t": [CREATE]}

    filters = [everything(operation=READ), everything(resource_name_filter="t"), everything(resource_name_filter="x")]
    answer: Any = broker.serve(delete_acls.handle, Request(filters=filters), Context(3, principal=ROOT))
    gone = [
        [(acl["resource_name"], acl["operation"]) for acl in each["matching_acls"]] for each in answer["filter_results"]
    ]
    assert gone == [[("t", READ), ("p", READ)], [("t", READ), ("t", CREATE)], []]
    assert described(broker) == {}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"resource_name": ""}, "empty resource name"),
        ({"resource_type": CLUSTER}, "kafka-cluster"),
        ({"resource_type": ANY}, "resourceType ANY"),
        ({"resource_type": 99}, "resourceType UNKNOWN"),
        ({"resource_pattern_type": ANY}, "patternType ANY"),
        ({"operation": ANY}, "operation ANY"),
        ({"permission_type": ANY}, "permissionType ANY"),
        ({"principal": "alice"}, "principal from `alice`"),
    ],
)
def test_what_is_no_rule_is_refused_alone(wrong, said):
    """ACL-11."""
    broker = started(properties=STANDARD)

    [refused, made] = create(broker, acl(**wrong), acl("good"))

    assert refused[0] is Code.INVALID_REQUEST
    assert said in (refused[1] or "")
    assert made == (Code.NONE, None)
    assert described(broker) == {"good": [READ]}


def test_rules_survive_a_restart_in_the_log(tmp_path):
    """ACL-11: also one that was removed, also without a clean stop."""
    broker = started(tmp_path, STANDARD)
    create(broker, acl("kept"), acl("gone"), acl("ä" * 80, ALL, principal="User:CN=a,O=b", host="10.0.0.1"))
    broker.serve(
        delete_acls.handle, Request(filters=[everything(resource_name_filter="gone")]), Context(3, principal=ROOT)
    )
    before = described(broker)

    broker.restart()
    after_restart = described(broker)
    broker.close()
    again = started(tmp_path, STANDARD)

    assert before == {"kept": [READ], "ä" * 80: [ALL]} == after_restart == described(again)
    create(again, acl("kept"))
    assert described(again) == before
    again.close()


def test_nobody_sees_the_log_of_the_rules():
    """ACL-11: as in Kafka it is not among the topics, and no client makes another one."""
    broker = started(properties=STANDARD, t=1)
    create(broker, acl())
    wanted = Request(name=CLUSTER_METADATA, num_partitions=1, replication_factor=1, assignments=(), configs=())
    request = Request(topics=[wanted], validate_only=False)

    answer: Any = broker.serve(create_topics.handle, request, Context(5, principal=ROOT))

    assert answer["topics"][0]["error_code"] is Code.INVALID_REQUEST
    assert [topic.name for topic in broker.topics] == ["t"]
    assert asked(broker, CLUSTER_METADATA, ROOT) is Code.UNKNOWN_TOPIC_OR_PARTITION


def test_without_an_authorizer_rules_are_refused_and_everybody_may_do_everything():
    """ACL-10."""
    broker = started(t=1)

    assert create(broker, acl()) == [(Code.SECURITY_DISABLED, "No Authorizer is configured.")]
    assert asked(broker, "t") is Code.NONE


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([], Code.TOPIC_AUTHORIZATION_FAILED),
        ([acl("new", DESCRIBE)], Code.TOPIC_AUTHORIZATION_FAILED),
        ([acl("new", CREATE)], Code.TOPIC_AUTHORIZATION_FAILED),
        ([acl("new", DESCRIBE), acl("new", CREATE)], Code.NONE),
        ([acl("new", DESCRIBE), acl("kafka-cluster", CREATE, resource_type=CLUSTER)], Code.NONE),
    ],
)
def test_a_topic_is_created_by_metadata_only_for_who_may_describe_and_create_it(rules, code):
    """ACL-12: Kafka's `handleTopicMetadataRequest`, where `auto.create.topics.enable` is true."""
    broker = started(properties=STANDARD)
    create(broker, *rules)

    assert asked(broker, "new") is code
    assert (broker.topics.by_name("new") is not None) is (code is Code.NONE)


@pytest.mark.parametrize(
    ("handler", "request_", "said"),
    [
        (create_topics, Request(topics=[new_topic("t")], validate_only=False), "Authorization failed."),
        (delete_topics, Request(topics=[Request(name="t", topic_id=None)]), None),
        (create_partitions, Request(topics=[Request(name="t", count=2, assignments=None)], validate_only=False), None),
        (describe_configs, Request(resources=[properties("t")]), None),
        (incremental_alter_configs, Request(resources=[properties("t")], validate_only=False), None),
    ],
    ids=lambda value: value.__name__.rpartition(".")[2] if hasattr(value, "__name__") else None,
)
def test_a_refused_right_has_no_text_in_place_of_that_of_the_client(handler, request_, said):
    """ACL-12: a text, even an empty one, would take the place of "Topic authorization failed."."""
    broker = started(properties=STANDARD)
    broker.topics.create("t", 1, {})

    answer: Any = broker.serve(handler.handle, request_, Context(6, principal=ALICE))

    (refused,) = next(part for part in answer.values() if isinstance(part, list))
    assert (refused["error_code"], refused["error_message"]) == (Code.TOPIC_AUTHORIZATION_FAILED, said)


def test_nobody_begins_a_transaction_of_another_by_naming_no_partition():
    """ACL-12: whoever reads a topic knows the producer's id and epoch, and would have it fenced by the timeout."""
    broker = started(properties=STANDARD)
    holder = broker.coordinator.initialise("id", 60_000, None, broker.now_ms())
    request = Request(
        v3_and_below_transactional_id="id",
        v3_and_below_producer_id=holder.producer_id,
        v3_and_below_producer_epoch=holder.epoch,
        v3_and_below_topics=(),
    )

    broker.serve(add_partitions_to_txn.handle, request, Context(3, principal=ALICE))

    known = broker.coordinator.describe("id")
    assert known is not None
    assert known.state.label == "Empty"


def listed(broker: Broker, pattern: str | None) -> tuple[Code, list[str]]:
    request = Request(state_filters=(), producer_id_filters=(), duration_filter=-1, transactional_id_pattern=pattern)
    answer: Any = broker.serve(list_transactions.handle, request, Context(2, principal=ROOT))
    return answer["error_code"], [each["transactional_id"] for each in answer["transaction_states"]]


@pytest.mark.timeout(20)
def test_no_pattern_of_a_client_keeps_the_broker_busy():
    """Expressions of Python take longer than anybody lives."""
    broker = started()
    names = ["a" * 60, "b", "ba\nb"]
    for name in names:
        broker.coordinator.initialise(name, 60_000, None, broker.now_ms())

    assert listed(broker, None) == listed(broker, "") == (Code.NONE, names)
    assert listed(broker, "(a|a)*c") == (Code.NONE, [])
    assert listed(broker, "b.*") == (Code.NONE, ["b"])
    assert listed(broker, "(?=a)") == (Code.INVALID_REGULAR_EXPRESSION, [])


def test_without_google_re2_a_pattern_is_refused_and_the_log_says_why(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "re2", None)
    caplog.set_level("INFO")
    broker = started()

    assert listed(broker, "a") == (Code.INVALID_REGULAR_EXPRESSION, [])
    assert "pip install 'eosfw-memory[regex]'" in caplog.text
    assert listed(broker, "") == (Code.NONE, [])


def test_a_rule_that_cannot_be_kept_is_refused_and_does_not_count(monkeypatch):
    """ACL-11: the log comes first."""
    broker = started(properties=STANDARD)
    create(broker, acl("kept"))

    def fail(*_: object) -> int:
        raise KafkaError(Code.KAFKA_STORAGE_ERROR, "the disk failed")

    assert broker.topics.cluster_metadata is not None
    log = broker.topics.cluster_metadata.partitions[0].log
    monkeypatch.setattr(log, "append_internal", fail)

    assert create(broker, acl("lost"), acl("")) == [
        (Code.KAFKA_STORAGE_ERROR, "the disk failed"),
        (Code.INVALID_REQUEST, "Invalid empty resource name"),
    ]
    answer: Any = broker.serve(delete_acls.handle, Request(filters=[everything()]), Context(3, principal=ROOT))
    assert answer["filter_results"][0]["error_code"] is Code.KAFKA_STORAGE_ERROR
    assert described(broker) == {"kept": [READ]}


def test_the_properties_of_rights_are_described():
    assert Settings.parse(STANDARD).described()["super.users"] == "User:root"
