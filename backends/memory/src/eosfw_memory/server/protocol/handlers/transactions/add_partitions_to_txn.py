"""AddPartitionsToTxn (24): add partitions to transactions, which begin if none is open.

Behaviour
- All or nothing for each transaction: when one partition does not exist, it gets UnknownTopicOrPartition, the others
  OperationNotAttempted, and nothing is added. No client may add a partition of the broker's own topics.
- Otherwise every partition gets the coordinator's answer (COR-06). With `verify_only` nothing is added, and the answer
  says for each partition whether it is in the transaction (COR-19).

Version notes: before 2 the code for a fenced producer is InvalidProducerEpoch; 4 and later carry several transactions,
each to be added or only verified, between brokers and in version 2 of transactions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eosfw.ids import ProducerIdAndEpoch, TopicPartition
from eosfw_memory.common.codes import Code, KafkaError
from eosfw_memory.common.delayed_operation import Answer
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.coordinators.transaction_metadata import TV_0, TV_2
from eosfw_memory.server.protocol.authorization import allows
from eosfw_memory.server.protocol.rights import CLUSTER_ACTION, TOPIC_WRITE, TRANSACTIONAL_ID_WRITE
from eosfw_memory.server.protocol.transaction_verification import fenced_error_code

_BATCHED_VERSION = 4
_FENCED_VERSION = 2


def handle(broker: Broker, request: Any, context: Context) -> Answer:
    """Answer for each partition."""
    if context.version >= _BATCHED_VERSION:
        if not allows(broker, context, CLUSTER_ACTION):
            return {"error_code": CLUSTER_ACTION.denied, "results_by_transaction": ()}
        results = [_transaction(broker, each) for each in request.transactions]
        return {"error_code": Code.NONE, "results_by_transaction": results}
    topics, name = request.v3_and_below_topics, request.v3_and_below_transactional_id
    wanted = _partitions(topics)
    if not allows(broker, context, TRANSACTIONAL_ID_WRITE, name):
        # Also where no partition is named: that, too, begins a transaction.
        codes: Mapping[TopicPartition, Code] = dict.fromkeys(wanted, TRANSACTIONAL_ID_WRITE.denied)
        return {"results_by_topic_v3_and_below": _answer(topics, codes)}
    codes = _denied(broker, wanted, context) or _refused(broker, wanted, internal=TOPIC_WRITE.denied)
    if not codes:
        producer = ProducerIdAndEpoch(request.v3_and_below_producer_id, request.v3_and_below_producer_epoch)
        code = _added(broker, name, producer, wanted, TV_0)
        codes = dict.fromkeys(wanted, fenced_error_code(context.version, _FENCED_VERSION, code))
    return {"results_by_topic_v3_and_below": _answer(topics, codes)}


def _transaction(broker: Broker, request: Any) -> Answer:
    wanted = _partitions(request.topics)
    codes = _refused(broker, wanted, internal=Code.NONE) or _coordinated(broker, request, wanted)
    return {"transactional_id": request.transactional_id, "topic_results": _answer(request.topics, codes)}


def _coordinated(broker: Broker, request: Any, wanted: Sequence[TopicPartition]) -> Mapping[TopicPartition, Code]:
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    if not request.verify_only:
        return dict.fromkeys(wanted, _added(broker, request.transactional_id, producer, wanted, TV_2))
    try:
        return broker.coordinator.verify(request.transactional_id, producer, wanted)
    except KafkaError as refused:
        return dict.fromkeys(wanted, refused.code)


def _added(
    broker: Broker, name: str, producer: ProducerIdAndEpoch, wanted: Sequence[TopicPartition], client_version: int
) -> Code:
    try:
        broker.coordinator.add_partitions(name, producer, wanted, broker.now_ms(), client_version)
    except KafkaError as refused:
        return refused.code
    return Code.NONE


def _denied(broker: Broker, wanted: Sequence[TopicPartition], context: Context) -> Mapping[TopicPartition, Code]:
    """The code of each partition if the client may not write to one of their topics, else nothing."""
    allowed = {where: allows(broker, context, TOPIC_WRITE, where.topic) for where in wanted}
    if all(allowed.values()):
        return {}
    return {
        where: (_existing(broker, where, TOPIC_WRITE.denied) or Code.OPERATION_NOT_ATTEMPTED)
        if may
        else TOPIC_WRITE.denied
        for where, may in allowed.items()
    }


def _refused(broker: Broker, wanted: Sequence[TopicPartition], *, internal: Code) -> Mapping[TopicPartition, Code]:
    """The code of each partition if one of them cannot be added, else nothing."""
    codes = {where: _existing(broker, where, internal) for where in wanted}
    refused = any(codes.values())
    return {where: code or Code.OPERATION_NOT_ATTEMPTED for where, code in codes.items()} if refused else {}


def _existing(broker: Broker, where: TopicPartition, internal: Code) -> Code:
    topic = broker.topics.by_name(where.topic)
    if topic is None:
        return Code.UNKNOWN_TOPIC_OR_PARTITION
    if internal and topic.internal:
        return internal
    return Code.NONE if 0 <= where.partition < len(topic.partitions) else Code.UNKNOWN_TOPIC_OR_PARTITION


def _partitions(topics: Any) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in topics for index in topic.partitions]


def _answer(topics: Any, codes: Mapping[TopicPartition, Code]) -> list[Answer]:
    return [
        {
            "name": topic.name,
            "results_by_partition": [
                {"partition_index": index, "partition_error_code": codes[TopicPartition(topic.name, index)]}
                for index in topic.partitions
            ],
        }
        for topic in topics
    ]
