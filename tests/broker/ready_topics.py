"""Topics as single requests need them: these go to a broker once, and are not sent again."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic

from conformance import broker_state
from conformance.calls import Caller
from conformance.record_fields import WAIT
from eosfw.ids import TopicPartition


def create(admin: AdminClient, servers: str, *wanted: NewTopic) -> None:
    """Create topics and wait until each of their partitions is led."""
    for done in admin.create_topics(list(wanted)).values() if wanted else ():
        done.result(WAIT)
    caller = Caller(servers)
    for each in wanted:
        caller.wait_until_led(each.topic, each.num_partitions)
    caller.close()


def wait_until_decided(servers: str, topic: str, partitions: int = 1) -> None:
    """A real Kafka answers a commit, or an abort, before its control records are written (COR-09)."""
    caller = Caller(servers)
    for where in (TopicPartition(topic, number) for number in range(partitions)):
        caller.until(lambda where=where: len(set(broker_state.ends(caller, where)[1:])) == 1)
    caller.close()
