"""Assignors give every partition to one subscriber, evenly, and move no more than they have to."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from eosfw_memory.server.coordinators.groups.modern.assignors.group_spec import GroupSpec, MemberSpec
from eosfw_memory.server.coordinators.groups.modern.assignors.names import preferred_assignor
from eosfw_memory.server.coordinators.groups.modern.assignors.range_assignor import assign_ranges
from eosfw_memory.server.coordinators.groups.modern.assignors.uniform_assignor import assign_uniformly

EITHER = st.booleans()
TOPICS = [UUID(int=number) for number in range(1, 4)]
T, U, V = TOPICS


@st.composite
def specs(draw, *, homogeneous=EITHER):
    """Groups whose members have some partitions already."""
    partitions = {topic: draw(st.integers(1, 5)) for topic in TOPICS}
    names = draw(st.lists(st.sampled_from("abcdef"), min_size=1, unique=True))
    some = st.frozensets(st.sampled_from(TOPICS))
    same = draw(homogeneous)
    common = draw(some)
    topics = {name: common if same else draw(some) for name in names}
    owned = {name: {} for name in names}
    for topic, count in partitions.items():
        for number in range(count):
            owner = draw(st.sampled_from([None, *names]))
            if owner is not None:
                owned[owner].setdefault(topic, set()).add(number)
    members = {
        name: MemberSpec(topics[name], {topic: frozenset(each) for topic, each in owned[name].items()})
        for name in names
    }
    used = frozenset().union(*topics.values())
    return GroupSpec(members, {topic: partitions[topic] for topic in used}, same)


def flat(targets):
    return [(topic, number) for target in targets.values() for topic, numbers in target.items() for number in numbers]


def sizes(targets, spec):
    return [len(flat({name: targets.get(name, {})})) for name in spec.members]


@given(spec=specs())
def test_every_partition_goes_to_one_subscriber(spec):
    """GRP-04."""
    for assign in (assign_ranges, assign_uniformly):
        targets = assign(spec)

        every = [(topic, number) for topic, count in spec.partitions.items() for number in range(count)]
        assert sorted(flat(targets)) == sorted(every)
        assert all(target.keys() <= spec.members[name].topics for name, target in targets.items())


@given(spec=specs(homogeneous=st.just(True)))
def test_members_with_the_same_subscription_differ_by_one_partition_and_keep_what_they_may(spec):
    """GRP-04: `uniform`."""
    targets = assign_uniformly(spec)

    every = sizes(targets, spec)
    assert max(every) - min(every) <= 1
    for name, member in spec.members.items():
        had = set(flat({name: {topic: each for topic, each in member.assigned.items() if topic in spec.partitions}}))
        kept = had & set(flat({name: targets[name]}))
        assert len(kept) >= min(len(had), *every)


@given(spec=specs())
def test_an_even_assignment_stays(spec):
    """GRP-04: `uniform` moves nothing without a reason."""
    first = assign_uniformly(spec)
    members = {name: MemberSpec(member.topics, first.get(name, {})) for name, member in spec.members.items()}

    assert assign_uniformly(GroupSpec(members, spec.partitions, spec.is_homogeneous)) == first


def test_no_partition_could_move_to_a_member_with_fewer():
    """GRP-04: `uniform`, with different subscriptions."""
    members = {
        "a": MemberSpec(frozenset({T, U, V}), {T: frozenset(range(4)), U: frozenset(range(2))}),
        "b": MemberSpec(frozenset({T})),
        "c": MemberSpec(frozenset({T, V})),
    }

    targets = assign_uniformly(GroupSpec(members, {T: 4, U: 2, V: 3}, is_homogeneous=False))

    assert {name: len(flat({name: target})) for name, target in targets.items()} == {"a": 3, "b": 3, "c": 3}
    assert targets["a"][U] == {0, 1}


def test_members_have_ranges_in_the_order_of_their_instance_ids():
    """GRP-04: `range`; static members first, and the same partitions of every topic."""
    both = frozenset({T, U})
    members = {
        "a": MemberSpec(both),
        "b": MemberSpec(both, instance_id="z"),
        "c": MemberSpec(both, instance_id="y"),
    }

    targets = assign_ranges(GroupSpec(members, {T: 4, U: 4}, is_homogeneous=True))

    assert targets == {
        "c": {T: {0, 1}, U: {0, 1}},
        "b": {T: {2}, U: {2}},
        "a": {T: {3}, U: {3}},
    }


def test_the_assignor_that_most_members_ask_for_is_used():
    """GRP-04."""
    assert preferred_assignor([None, None]) == "uniform"
    assert preferred_assignor([None, "range", None]) == "range"
    assert preferred_assignor(["range", "uniform", "range"]) == "range"
