"""Who may not know of a topic gets no partitions of it."""

from __future__ import annotations

from types import SimpleNamespace as Request

from eosfw_memory.client.transport.apis import milliseconds
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.handlers.groups import consumer_group_heartbeat
from eosfw_memory.server.protocol.rights import GROUP_READ

from ..brokers import started


class Hiding:
    """An authorizer that hides one topic."""

    def authorize(self, principal, host, right, name) -> bool:
        return right is GROUP_READ or name != "hidden"


def test_a_regular_expression_does_not_match_topics_that_its_member_may_not_know():
    """GRP-04: as in Kafka, topics without Describe are left out without an error."""
    broker = started(hidden=1, shown=1)
    broker.authorizer = Hiding()
    request = Request(
        group_id="g",
        member_id="one",
        member_epoch=0,
        instance_id=None,
        rack_id=None,
        rebalance_timeout=milliseconds(1),
        subscribed_topic_names=None,
        subscribed_topic_regex=".*",
        server_assignor=None,
        topic_partitions=(),
    )

    answer = broker.serve(consumer_group_heartbeat.handle, request, Context(1))

    assert answer["error_code"] is Code.NONE
    [told] = answer["assignment"]["topic_partitions"]
    assert broker.topics.by_id(told["topic_id"]).name == "shown"
