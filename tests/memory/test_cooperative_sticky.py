"""The assignor shares evenly, moves as little as it must, and never gives a partition to two members."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eosfw.ids import TopicPartition
from eosfw_memory.client.consumer.cooperative_sticky import assign
from eosfw_memory.server.coordinators.groups.membership.consumer_protocol import Subscription

TOPIC = "t"
names = st.sampled_from("abcdef")


def partitions(count):
    return {TopicPartition(TOPIC, number) for number in range(count)}


def joined(owned, generation=1):
    return Subscription(frozenset({TOPIC}), frozenset(owned), generation)


@st.composite
def groups(draw):
    """A topic, and members that own some of its partitions, each partition owned once at most."""
    count = draw(st.integers(0, 8))
    members = draw(st.sets(names, min_size=1))
    owners = {one: draw(st.sampled_from([None, *sorted(members)])) for one in partitions(count)}
    return count, {name: joined(one for one, owner in owners.items() if owner == name) for name in members}


def settled(count, members):
    """The assignments of the generations until nothing moves any more."""
    rounds = [assign({TOPIC: count}, members)]
    while True:
        again = assign({TOPIC: count}, {name: joined(own, len(rounds) + 1) for name, own in rounds[-1].items()})
        if again == rounds[-1]:
            return rounds
        rounds.append(again)
        assert len(rounds) <= 3, "it does not come to rest"


@given(groups())
def test_every_partition_has_one_owner_in_the_end_within_one_of_the_others(group):
    """KIP-429: all partitions, each once, and no member has two more than another."""
    count, members = group

    last = settled(count, members)[-1]

    assert sorted(one for own in last.values() for one in own) == sorted(partitions(count))
    sizes = [len(own) for own in last.values()]
    assert max(sizes) - min(sizes) <= 1


@given(groups())
def test_a_partition_is_revoked_before_another_member_gets_it(group):
    """KIP-429: in no generation does a member get what another one owned in the generation before."""
    count, members = group
    before = {name: each.owned for name, each in members.items()}

    for after in settled(count, members):
        for name, own in after.items():
            assert own.isdisjoint(frozenset().union(*(each for other, each in before.items() if other != name)))
        before = after


@given(groups())
def test_members_give_up_only_what_is_above_their_share(group):
    """Sticky: nobody loses a partition without having more than its even share."""
    count, members = group

    first = assign({TOPIC: count}, members)

    for name, each in members.items():
        if each.owned - first[name]:
            assert len(first[name]) >= count // len(members)


@given(groups(), names)
def test_an_owner_of_the_only_partition_keeps_it_when_others_join(group, newcomer):
    """A leader stays the leader, whoever comes."""
    _, members = group
    one = TopicPartition(TOPIC, 0)
    owner = min(members)
    everybody = {name: joined([one] if name == owner else []) for name in members} | (
        {} if newcomer in members else {newcomer: joined([])}
    )

    assert assign({TOPIC: 1}, everybody)[owner] == {one}


def test_the_claim_of_the_newer_generation_wins():
    """KIP-792: a member that missed a generation believes that it still owns what others have by now."""
    one = TopicPartition(TOPIC, 0)

    shares = assign({TOPIC: 1}, {"late": joined([one], 3), "owner": joined([one], 4)})

    assert shares == {"late": frozenset(), "owner": frozenset({one})}


def test_partitions_go_only_to_members_that_subscribed_to_their_topic():
    """Members of one group may read different topics; a topic that does not exist has nothing to give."""
    members = {"a": Subscription(frozenset({"x"})), "b": Subscription(frozenset({"x", "y", "nowhere"}))}

    shares = assign({"x": 1, "y": 1, "nowhere": 0}, members)

    assert TopicPartition("y", 0) in shares["b"]
    assert sorted(one for own in shares.values() for one in own) == [TopicPartition("x", 0), TopicPartition("y", 0)]
