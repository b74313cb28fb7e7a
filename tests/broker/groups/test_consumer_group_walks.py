"""Random heartbeats of several members get the same answers from the embedded broker as from a real Kafka."""

from __future__ import annotations

import random
import uuid

import pytest

from broker.groups.consumers import until
from broker.groups.group_requests import Raw
from broker.groups.heartbeating_member import HeartbeatingMember, settle
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code

WALKS, STEPS = 12, 30
MOST_MEMBERS = 5
PARTITIONS = (5, 3)
IDS = tuple(f"m{number}" for number in range(10))
"""Ids that come in the same order from every table of hashes."""
GONE = (Code.FENCED_MEMBER_EPOCH, Code.UNKNOWN_MEMBER_ID)


class Side:
    """A member on one of both clusters: what it reads, which is more than it was told until it gives that up."""

    def __init__(self, raw, group, member_id, topics, **settings):
        self.member = HeartbeatingMember(raw, group, member_id, *topics, **settings)
        self.owned = {}

    def beat(self, *, gives_up, reports, **changes):
        """The answer: code, epoch, how many partitions of which size of topic."""
        if self.member.epoch == 0:
            self.owned = {}
        owned = [Fields(topic_id=topic_id, partitions=sorted(each)) for topic_id, each in self.owned.items()]
        answer = self.member.beat(topic_partitions=owned if reports or self.member.epoch == 0 else None, **changes)
        if answer["error_code"] in GONE:
            self.member.epoch, self.member.partitions, self.owned = 0, {}, {}
        told = {topic_id: set(numbers) for topic_id, numbers in self.member.partitions.items()}
        kept = {} if gives_up else self.owned
        self.owned = {topic_id: told.get(topic_id, set()) | kept.get(topic_id, set()) for topic_id in {**told, **kept}}
        assignment = answer["assignment"]
        shown = (
            None
            if assignment is None
            else sorted(sorted(each["partitions"]) for each in assignment["topic_partitions"])
        )
        return answer["error_code"], answer["member_epoch"], shown


class Walk:
    """The same members on both clusters."""

    def __init__(self, raws, topics, number):
        self.raws = raws
        self.random = random.Random(number)
        self.group = f"walk-{number}-{uuid.uuid4().hex[:8]}"
        self.assignor = self.random.choice(("range", "uniform"))
        # Which of several topics `uniform` begins with depends on their ids, which are random.
        self.topics = topics if self.assignor == "range" else topics[:1]
        self.members = {}
        self.instances = {}

    def join(self, member_id, instance):
        topics = self.random.sample(self.topics, self.random.randint(1, len(self.topics)))
        settings = {"instance_id": instance, "server_assignor": self.assignor}
        self.members[member_id] = [Side(raw, self.group, member_id, topics, **settings) for raw in self.raws]
        self.instances[member_id] = instance
        return self.beat(member_id)

    def beat(self, member_id, *, gives_up=True, reports=True, **changes):
        return [each.beat(gives_up=gives_up, reports=reports, **changes) for each in self.members[member_id]]

    def step(self):
        """Do one thing on both; give what was done, and both answers."""
        kind = self.random.choices(("join", "beat", "keep", "silent", "leave", "away"), (3, 8, 2, 1, 1, 1))[0]
        free = [name for name in IDS if name not in self.members]
        if kind == "join" or not self.members:
            if len(self.members) == MOST_MEMBERS:
                return kind, None, [None, None]
            unused = [None, None, *({"i", "j"} - set(self.instances.values()))]
            return kind, free[0], self.join(self.random.choice(free), self.random.choice(sorted(unused, key=str)))
        name = self.random.choice(sorted(self.members))
        if kind == "leave" or (kind == "away" and self.instances[name] is None):
            answers = self.beat(name, member_epoch=-1)
            del self.members[name], self.instances[name]
            return kind, name, answers
        if kind == "away":
            self.beat(name, member_epoch=-2)
            instance = self.instances.pop(name)
            del self.members[name]
            return kind, name, self.join(self.random.choice(free), instance)
        return kind, name, self.beat(name, gives_up=kind == "beat", reports=kind != "silent")


@pytest.fixture(scope="module")
def both(embedded, real_kafka):
    """A connection to each cluster, and topics that both have."""
    raws, topics = [Raw(embedded), Raw(real_kafka)], [f"t-{uuid.uuid4().hex[:8]}" for _ in PARTITIONS]
    for raw in raws:
        for name, partitions in zip(topics, PARTITIONS, strict=True):
            assert raw.create_topic(name, partitions) == Code.NONE
            looking = HeartbeatingMember(raw, f"looking-{name}", "one", name)
            until(lambda: settle(looking)["one"] == {name: tuple(range(partitions))})  # noqa: B023 - called here
    yield raws, topics
    for raw in raws:
        raw.close()


@pytest.mark.kafka
@pytest.mark.parametrize("number", range(WALKS))
def test_random_heartbeats_get_the_answers_of_a_real_kafka(both, number):
    """GRP-04: codes, epochs and partitions, whoever joins, leaves, is slow or comes back."""
    walk, done = Walk(*both, number), []

    for _ in range(STEPS):
        kind, name, (ours, kafkas) = walk.step()
        done.append((kind, name, kafkas))
        assert ours == kafkas, done
