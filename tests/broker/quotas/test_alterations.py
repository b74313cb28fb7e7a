"""Administrators set quotas, see them, and find them again after a restart, as with Kafka."""

from __future__ import annotations

import uuid
from types import SimpleNamespace as Request

import pytest

from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Context
from eosfw_memory.server.protocol.handlers.quotas import alter_client_quotas

from ..brokers import started

DESCRIBE, ALTER = 48, 49
EXACT, DEFAULT, ANY = 0, 1, 2
PRODUCE, FETCH, TIME = "producer_byte_rate", "consumer_byte_rate", "request_percentage"


def entry(entity, values, make=Fields):
    ops = [make(key=key, value=value or 0.0, remove=value is None) for key, value in values]
    return make(entity=[make(entity_type=kind, entity_name=name) for kind, name in entity], ops=ops)


def altered(caller, *entries, only_validate=False):
    """The code of each entity."""
    answer = caller.ask(ALTER, 1, entries=[entry(*each) for each in entries], validate_only=only_validate)
    return [Code(each["error_code"]) for each in answer["entries"]]


def described(caller, *components, strict=False):
    """The values of each entity, or the code in their place."""
    wanted = [Fields(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    answer = caller.ask(DESCRIBE, 1, components=wanted, strict=strict)
    if answer["error_code"] != Code.NONE:
        return Code(answer["error_code"])
    return {
        frozenset((part["entity_type"], part["entity_name"]) for part in each["entity"]): {
            value["key"]: value["value"] for value in each["values"]
        }
        for each in answer["entries"]
    }


@pytest.fixture
def user(caller):
    """A name with which the test is alone; its quotas are removed in the end."""
    name = f"u-{uuid.uuid4().hex[:8]}"
    yield name
    entities = [(("user", name), *more) for more in ((), (("client-id", "c"),), (("client-id", None),))]
    altered(caller, *((entity, [(PRODUCE, None), (FETCH, None), (TIME, None)]) for entity in entities))


class TestBesideKafka:
    def test_quotas_are_set_shown_and_removed(self, caller, user):
        """QUO-01: by exact name, by any name, by default; strict or not."""
        alone, named, other = (
            frozenset({("user", user), *more}) for more in ((), {("client-id", "c")}, {("client-id", None)})
        )
        done = altered(
            caller,
            ([("user", user)], [(PRODUCE, 1e12), (TIME, 12.5)]),
            ([("client-id", "c"), ("user", user)], [(FETCH, 2e12)]),
            ([("user", user), ("client-id", None)], [(FETCH, 3e12)]),
        )
        mine = ("user", EXACT, user)
        every = {alone: {PRODUCE: 1e12, TIME: 12.5}, named: {FETCH: 2e12}, other: {FETCH: 3e12}}

        assert done == [Code.NONE] * 3
        caller.until(lambda: described(caller, mine) == every)
        assert described(caller, mine, strict=True) == {alone: every[alone]}
        assert described(caller, mine, ("client-id", ANY, None)) == {named: every[named], other: every[other]}
        assert described(caller, mine, ("client-id", DEFAULT, None)) == {other: every[other]}
        assert described(caller, ("user", ANY, None)).items() >= every.items()

        assert altered(caller, ([("user", user)], [(PRODUCE, None), (FETCH, None)]), only_validate=True) == [Code.NONE]
        assert altered(caller, ([("user", user)], [(TIME, None), (FETCH, None), (PRODUCE, 5.0)])) == [Code.NONE]
        caller.until(lambda: described(caller, mine, strict=True) == {alone: {PRODUCE: 5.0}})

    @pytest.mark.parametrize(
        ("entity", "values"),
        [
            ([], [(PRODUCE, 1.0)]),
            ([("user", "")], [(PRODUCE, 1.0)]),
            ([("group", "g")], [(PRODUCE, 1.0)]),
            ([("user", "u"), ("ip", "127.0.0.1")], [(PRODUCE, 1.0)]),
            ([("user", "u")], [("nothing_byte_rate", 1.0)]),
            ([("user", "u")], [(PRODUCE, 0.0), (PRODUCE, 1.0)]),
            ([("user", "u")], [(FETCH, -1.0)]),
            ([("user", "u")], [(FETCH, 1.5)]),
            ([("user", "u")], [(FETCH, 1e19)]),
            ([("user", "u")], [(TIME, -0.5)]),
        ],
    )
    def test_what_is_no_quota_is_refused_and_what_comes_with_it_is_kept(self, caller, user, entity, values):
        """QUO-01."""
        done = altered(caller, (entity, values), ([("user", user)], [(FETCH, 7.0)]))

        assert sorted(done) == [Code.NONE, Code.INVALID_REQUEST]
        caller.until(lambda: described(caller, ("user", EXACT, user)) == {frozenset({("user", user)}): {FETCH: 7.0}})

    def test_an_entity_that_comes_twice_is_refused(self, caller, user):
        """QUO-01."""
        twice = ([("user", user)], [(FETCH, 7.0)])

        assert altered(caller, twice, twice, only_validate=True) == [Code.INVALID_REQUEST]

    @pytest.mark.parametrize(
        ("components", "code"),
        [
            ([("", ANY, None)], Code.INVALID_REQUEST),
            ([("user", ANY, None), ("user", DEFAULT, None)], Code.INVALID_REQUEST),
            ([("user", EXACT, None)], Code.INVALID_REQUEST),
            ([("user", DEFAULT, "u")], Code.INVALID_REQUEST),
            ([("user", ANY, "u")], Code.INVALID_REQUEST),
            ([("user", 3, None)], Code.INVALID_REQUEST),
            ([("user", ANY, None), ("ip", ANY, None)], Code.INVALID_REQUEST),
            ([("group", ANY, None)], Code.UNSUPPORTED_VERSION),
        ],
    )
    def test_a_filter_that_contradicts_itself_is_refused(self, caller, components, code):
        """QUO-01."""
        assert described(caller, *components) is code


def alter(broker, entity, *values):
    request = Request(entries=[entry(entity, values, Request)], validate_only=False)
    [done] = broker.serve(alter_client_quotas.handle, request, Context(1))["entries"]
    return done["error_code"]


@pytest.mark.parametrize("entity", [[("ip", "127.0.0.1")], [("user", "u")]])
def test_quotas_that_the_broker_does_not_enforce_are_refused(broker, entity):
    """QUO-01: Kafka takes them."""
    for key in ("controller_mutation_rate", "connection_creation_rate"):
        assert alter(broker, entity, (key, 5.0)) is Code.INVALID_REQUEST


def test_quotas_survive_a_restart_beside_access_rules(tmp_path):
    """QUO-04: in the log, where one that was removed stays away."""
    authorizer = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    before = started(tmp_path, authorizer)
    for entity in ([("user", "u"), ("client-id", None)], [("user", None)]):
        assert alter(before, entity, (PRODUCE, 5.0), (TIME, 2.5)) is Code.NONE
    assert alter(before, [("user", None)], (PRODUCE, None), (TIME, None)) is Code.NONE
    before.close()

    after = started(tmp_path, authorizer)

    assert after.quota_control.quotas == {frozenset({("user", "u"), ("client-id", None)}): {PRODUCE: 5.0, TIME: 2.5}}
    assert after.client_quotas.enabled
    after.restart()
    assert after.client_quotas.enabled
    after.close()
