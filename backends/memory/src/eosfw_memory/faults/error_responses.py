"""The answer to any request that is refused as a whole: its error code in every place that has one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from eosfw_memory.common.codes import Code
from eosfw_memory.common.delayed_operation import Answer

_NONE: Final = -1
_ErrorResponse = Callable[[Any, Code], Answer]


def error_response(name: str, request: Any, code: Code) -> Answer:
    """The answer to a request that had no effect, with `code` for each thing it asked for."""
    return _ERROR_RESPONSES.get(name, _flat)(request, code)


def _flat(request: Any, code: Code) -> Answer:  # noqa: ARG001
    return {
        **dict.fromkeys(("producer_id", "producer_epoch", "generation_id", "node_id", "controller_id"), _NONE),
        **dict.fromkeys(("transaction_states", "unknown_state_filters", "brokers", "groups", "api_keys"), ()),
        **dict.fromkeys(("resources", "topics"), ()),
        **dict.fromkeys(("leader", "member_id", "host", "cluster_id", "protocol_name"), ""),
        "protocol_type": None,
        "members": (),
        "port": _NONE,
        "assignment": b"",
        "error_code": code,
    }


def _each(topics: Iterable[Any], parts: str, answer: Callable[[Any], Answer], **names: str) -> list[Answer]:
    """One answer for each partition of each topic; `names` are the field names of topic and partitions."""
    label, inner = names.get("label", "name"), names.get("inner", "partitions")
    return [
        {
            label: getattr(topic, label, None),
            "topic_id": getattr(topic, "topic_id", None),
            inner: [answer(part) for part in getattr(topic, parts)],
        }
        for topic in topics
    ]


def _produce(request: Any, code: Code) -> Answer:
    def one(data: Any) -> Answer:
        missing = dict.fromkeys(("base_offset", "log_append_time", "log_start_offset"), _NONE)
        return {"index": data.index, "error_code": code, **missing, "record_errors": (), "error_message": None}

    return {"responses": _each(request.topic_data, "partition_data", one, inner="partition_responses")}


def _fetch(request: Any, code: Code) -> Answer:
    def one(wanted: Any) -> Answer:
        missing = dict.fromkeys(("high_watermark", "last_stable_offset", "log_start_offset"), _NONE)
        rest = {"aborted_transactions": None, "preferred_read_replica": _NONE, "records": None}
        return {"partition_index": wanted.partition, "error_code": code, **missing, **rest}

    responses = _each(request.topics, "partitions", one, label="topic")
    return {"error_code": Code.NONE, "session_id": 0, "responses": responses}


def _list_offsets(request: Any, code: Code) -> Answer:
    def one(wanted: Any) -> Answer:
        missing = dict.fromkeys(("timestamp", "offset", "leader_epoch"), _NONE)
        return {"partition_index": wanted.partition_index, "error_code": code, **missing}

    return {"topics": _each(request.topics, "partitions", one)}


def _metadata(request: Any, code: Code) -> Answer:
    topics = [
        {
            "error_code": code,
            "name": topic.name,
            "topic_id": getattr(topic, "topic_id", None),
            "is_internal": False,
            "partitions": (),
            "topic_authorized_operations": -(2**31),
        }
        for topic in request.topics or ()
    ]
    return {"brokers": (), "cluster_id": None, "controller_id": _NONE, "topics": topics}


def _codes_of(parts: str, index: str) -> _ErrorResponse:
    """A code for each partition, without other fields."""

    def answer(request: Any, code: Code) -> Answer:
        def one(part: Any) -> Answer:
            return {"partition_index": getattr(part, index), "error_code": code}

        return {"topics": _each(request.topics, parts, one)}

    return answer


def _offset_fetch(request: Any, code: Code) -> Answer:
    groups = [
        {"group_id": group.group_id, "topics": (), "error_code": code} for group in getattr(request, "groups", ())
    ]
    return {"groups": groups, "topics": (), "error_code": code}


def _find_coordinator(request: Any, code: Code) -> Answer:
    found = {"node_id": _NONE, "host": "", "port": _NONE, "error_code": code, "error_message": None}
    return {
        **found,
        "coordinators": [{**found, "key": key} for key in getattr(request, "coordinator_keys", None) or ()],
    }


def _create_topics(request: Any, code: Code) -> Answer:
    missing = {"topic_config_error_code": 0, "num_partitions": _NONE, "replication_factor": _NONE, "configs": ()}
    rest = {"topic_id": None, "error_code": code, "error_message": None, **missing}
    return {"topics": [{"name": topic.name, **rest} for topic in request.topics]}


def _delete_topics(request: Any, code: Code) -> Answer:
    named = [(name, None) for name in getattr(request, "topic_names", None) or ()]
    named += [(topic.name, topic.topic_id) for topic in getattr(request, "topics", None) or ()]
    rest = {"error_code": code, "error_message": None}
    return {"responses": [{"name": name, "topic_id": topic_id, **rest} for name, topic_id in named]}


def _leader_epoch(request: Any, code: Code) -> Answer:
    def one(wanted: Any) -> Answer:
        return {"error_code": code, "partition": wanted.partition, "leader_epoch": _NONE, "end_offset": _NONE}

    return {"topics": _each(request.topics, "partitions", one, label="topic")}


def _add_partitions(request: Any, code: Code) -> Answer:
    def results(topics: Any) -> list[Answer]:
        return [
            {
                "name": topic.name,
                "results_by_partition": [
                    {"partition_index": number, "partition_error_code": code} for number in topic.partitions
                ],
            }
            for topic in topics
        ]

    by_transaction = [
        {"transactional_id": each.transactional_id, "topic_results": results(each.topics)}
        for each in getattr(request, "transactions", None) or ()
    ]
    older = results(getattr(request, "v3_and_below_topics", None) or ())
    return {"error_code": Code.NONE, "results_by_transaction": by_transaction, "results_by_topic_v3_and_below": older}


def _describe_configs(request: Any, code: Code) -> Answer:
    return {
        "results": [
            {
                "error_code": code,
                "error_message": None,
                "resource_type": each.resource_type,
                "resource_name": each.resource_name,
                "configs": (),
            }
            for each in request.resources
        ]
    }


def _describe_producers(request: Any, code: Code) -> Answer:
    topics = [
        {
            "name": topic.name,
            "partitions": [
                {"partition_index": number, "error_code": code, "error_message": None, "active_producers": ()}
                for number in topic.partition_indexes
            ],
        }
        for topic in request.topics
    ]
    return {"topics": topics}


def _describe_transactions(request: Any, code: Code) -> Answer:
    missing = {"transaction_state": "", "transaction_timeout": 0, "transaction_start_time": 0, "topics": ()}
    rest = {"error_code": code, **missing, "producer_id": _NONE, "producer_epoch": _NONE}
    return {"transaction_states": [{"transactional_id": name, **rest} for name in request.transactional_ids]}


def _log_dirs(request: Any, code: Code) -> Answer:  # noqa: ARG001
    return {"error_code": code, "results": ()}


def _results(parts: str, answered: str, *names: str, **rest: Any) -> _ErrorResponse:
    """A code for each thing, with the fields that identify it."""

    def answer(request: Any, code: Code) -> Answer:
        things = getattr(request, parts)
        named = ({name: getattr(each, name) for name in names} for each in things)
        return {answered: [{**name, "error_code": code, "error_message": None, **rest} for name in named]}

    return answer


_ALTERED: Final = _results("resources", "responses", "resource_type", "resource_name")


def _groups_described(request: Any, code: Code) -> Answer:
    rest = dict.fromkeys(("group_state", "protocol_type", "protocol_data"), "")
    return {
        "groups": [
            {"error_code": code, "group_id": name, **rest, "members": (), "authorized_operations": -(2**31)}
            for name in request.groups
        ]
    }


def _groups_deleted(request: Any, code: Code) -> Answer:
    return {"results": [{"group_id": name, "error_code": code} for name in request.groups_names]}


_ERROR_RESPONSES: Final[Mapping[str, _ErrorResponse]] = {
    "Produce": _produce,
    "Fetch": _fetch,
    "ListOffsets": _list_offsets,
    "Metadata": _metadata,
    "OffsetCommit": _codes_of("partitions", "partition_index"),
    "OffsetFetch": _offset_fetch,
    "FindCoordinator": _find_coordinator,
    "DescribeGroups": _groups_described,
    "CreateTopics": _create_topics,
    "DeleteTopics": _delete_topics,
    "OffsetForLeaderEpoch": _leader_epoch,
    "AddPartitionsToTxn": _add_partitions,
    "TxnOffsetCommit": _codes_of("partitions", "partition_index"),
    "CreateAcls": _results("creations", "results"),
    "DeleteAcls": _results("filters", "filter_results", matching_acls=()),
    "DescribeConfigs": _describe_configs,
    "AlterConfigs": _ALTERED,
    "IncrementalAlterConfigs": _ALTERED,
    "CreatePartitions": _results("topics", "results", "name"),
    "DeleteGroups": _groups_deleted,
    "DescribeLogDirs": _log_dirs,
    "DescribeProducers": _describe_producers,
    "DescribeTransactions": _describe_transactions,
}
"""Requests whose answer has a code for each thing; every other answer has one code at its top."""
