"""The decisions of the authorizer: a table of cases, and a comparison with a model that looks at every rule."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.errors import ConfigError
from eosfw_memory.server.security.acl.acl_binding import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from eosfw_memory.server.security.acl.authorizer_config import parse_authorizer
from eosfw_memory.server.security.acl.right import Right
from eosfw_memory.server.security.acl.standard_authorizer import StandardAuthorizer

TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
STANDARD = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def rule(text: str) -> AclBinding:
    """A rule from a line such as `allow alice READ TOPIC t* from 10.0.0.1`."""
    words = text.split()
    name = words[4]
    prefixed = len(name) > 1 and name.endswith("*")
    return AclBinding(
        ResourceType[words[3]],
        name[:-1] if prefixed else name,
        PREFIXED if prefixed else LITERAL,
        f"User:{words[1]}",
        words[6] if len(words) > 5 else "*",
        AclOperation[words[2]],
        AclPermissionType[words[0].upper()],
    )


def authorizer(*rules: str, allow_if_no_acl: bool = False) -> StandardAuthorizer:
    made = StandardAuthorizer(["User:root"], allow_if_no_acl=allow_if_no_acl)
    for each in rules:
        made.add(rule(each))
    return made


@pytest.mark.parametrize(
    ("rules", "allowed", "denied"),
    [
        ([], [], ["READ TOPIC t"]),
        (["allow alice READ TOPIC t"], ["READ TOPIC t", "DESCRIBE TOPIC t"], ["WRITE TOPIC t", "READ TOPIC t2"]),
        (["allow alice READ TOPIC t"], [], ["READ GROUP t", "DESCRIBE_CONFIGS TOPIC t"]),
        (["allow bob READ TOPIC t"], [], ["READ TOPIC t"]),
        (["allow * READ TOPIC t"], ["READ TOPIC t"], []),
        (["allow alice READ TOPIC t*"], ["READ TOPIC t", "READ TOPIC tt"], ["READ TOPIC", "READ TOPIC s"]),
        (["allow alice READ TOPIC *"], ["READ TOPIC t"], ["READ GROUP g"]),
        (["allow alice ALL TOPIC t"], ["WRITE TOPIC t", "ALTER_CONFIGS TOPIC t", "DESCRIBE TOPIC t"], []),
        (["allow alice WRITE TOPIC t", "allow alice DELETE GROUP g"], ["DESCRIBE TOPIC t", "DESCRIBE GROUP g"], []),
        (["allow alice ALTER TOPIC t"], ["DESCRIBE TOPIC t"], ["ALTER_CONFIGS TOPIC t"]),
        (["allow alice ALTER_CONFIGS TOPIC t"], ["DESCRIBE_CONFIGS TOPIC t"], ["DESCRIBE TOPIC t"]),
        (["allow alice CREATE TOPIC t"], ["CREATE TOPIC t"], ["DESCRIBE TOPIC t"]),
        (["allow alice READ TOPIC t", "deny alice READ TOPIC t"], [], ["READ TOPIC t", "WRITE TOPIC t"]),
        (["allow alice ALL TOPIC *", "deny * WRITE TOPIC t*"], ["WRITE TOPIC s", "READ TOPIC t"], ["WRITE TOPIC t1"]),
        (["allow alice ALL TOPIC t", "deny alice READ TOPIC t"], ["DESCRIBE TOPIC t"], ["READ TOPIC t"]),
        (["allow alice ALL TOPIC t", "deny alice DESCRIBE TOPIC *"], ["READ TOPIC t"], ["DESCRIBE TOPIC t"]),
        (["allow alice ALL TOPIC t", "deny alice ALL TOPIC t from 10.0.0.2"], ["READ TOPIC t"], []),
        (["allow alice ALL TOPIC t from 10.0.0.2"], [], ["READ TOPIC t"]),
    ],
)
def test_rules_decide_as_in_kafka(rules, allowed, denied):
    """ACL-10: deny before allow; literal, prefixed and wildcard names; hosts; implied operations."""
    made = authorizer(*rules)

    def decide(text: str) -> bool:
        operation, kind, name = (*text.split(), "")[:3]
        return made.authorize("User:alice", "/10.0.0.1", Right(AclOperation[operation], ResourceType[kind]), name)

    assert {each: decide(each) for each in (*allowed, *denied)} == {
        **dict.fromkeys(allowed, True),
        **dict.fromkeys(denied, False),
    }


@pytest.mark.parametrize(
    ("rules", "any_topic"),
    [
        ([], False),
        (["allow alice WRITE TOPIC t"], True),
        (["allow alice ALL TOPIC t*"], True),
        (["allow alice READ TOPIC t"], False),
        (["allow alice WRITE GROUP t"], False),
        (["allow alice WRITE TOPIC t", "deny alice WRITE TOPIC t"], False),
        (["allow alice WRITE TOPIC tt", "deny alice WRITE TOPIC t*"], False),
        (["allow alice WRITE TOPIC tt*", "deny alice WRITE TOPIC t*"], False),
        (["allow alice WRITE TOPIC t*", "deny alice WRITE TOPIC t"], True),
        (["allow alice WRITE TOPIC t*", "deny alice WRITE TOPIC tt*"], True),
        (["allow alice WRITE TOPIC t", "deny alice WRITE TOPIC *"], False),
        (["allow alice WRITE TOPIC *", "deny alice WRITE TOPIC t*"], True),
        (["allow alice WRITE TOPIC t", "deny bob WRITE TOPIC *"], True),
    ],
)
def test_a_right_to_any_topic_counts_what_is_denied(rules, any_topic):
    """ACL-10: InitProducerId without a transactional id asks for it."""
    write = Right(AclOperation.WRITE, TOPIC)

    assert authorizer(*rules).authorize_by_resource_type("User:alice", "/10.0.0.1", write) is any_topic


def test_super_users_may_do_what_is_denied():
    """ACL-10."""
    made = authorizer("deny * ALL TOPIC *")
    write = Right(AclOperation.WRITE, TOPIC)

    assert made.authorize("User:root", "/10.0.0.1", write, "t")
    assert made.authorize_by_resource_type("User:root", "/10.0.0.1", write)
    assert not made.authorize("User:alice", "/10.0.0.1", write, "t")


def test_what_no_rule_is_about_is_allowed_only_if_the_property_says_so():
    """ACL-10: a rule about a resource ends that for everybody, also one for somebody else."""
    made, read = authorizer("allow bob READ TOPIC t", allow_if_no_acl=True), Right(AclOperation.READ, TOPIC)

    assert made.authorize("User:alice", "/10.0.0.1", read, "other")
    assert not made.authorize("User:alice", "/10.0.0.1", read, "t")


def test_a_rule_counts_from_its_creation_to_its_removal():
    """Decisions are remembered: none may outlive the rule that it came from."""
    made, read = authorizer(), Right(AclOperation.READ, TOPIC)
    allow, deny = rule("allow alice READ TOPIC t*"), rule("deny alice READ TOPIC t")
    seen = []
    for change in (lambda: made.add(allow), lambda: made.add(deny), lambda: made.remove(deny), made.clear):
        change()
        seen.append(made.authorize("User:alice", "/10.0.0.1", read, "t"))

    assert seen == [True, False, True, False]


def test_decisions_about_endless_names_do_not_fill_the_memory():
    made, read = authorizer("allow alice READ TOPIC t*"), Right(AclOperation.READ, TOPIC)
    for number in range(40_000):
        made.authorize("User:alice", "/10.0.0.1", read, f"t{number}")

    assert len(made._decisions) <= 1 << 15


PRINCIPALS = st.sampled_from(["User:alice", "User:bob"])
HOSTS = st.sampled_from(["10.0.0.1", "10.0.0.2"])
NAMES = st.text("ab*", max_size=3)
BINDINGS = st.builds(
    AclBinding,
    st.sampled_from([TOPIC, GROUP]),
    NAMES.filter(bool),
    st.sampled_from([LITERAL, PREFIXED]),
    PRINCIPALS | st.just("User:*"),
    HOSTS | st.just("*"),
    st.sampled_from([each for each in AclOperation if each > AclOperation.ANY]),
    st.sampled_from([ALLOW, ALLOW, DENY]),
)
IMPLYING = {
    AclOperation.DESCRIBE: {AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER},
    AclOperation.DESCRIBE_CONFIGS: {AclOperation.ALTER_CONFIGS},
}


def covers(acl: AclBinding, name: str) -> bool:
    return name.startswith(acl.resource_name) if acl.pattern_type is PREFIXED else acl.resource_name in ("*", name)


@pytest.mark.parametrize(
    ("rule_host", "host"),
    [
        ("0:0:0:0:0:0:0:1", "/::1"),
        ("::1", "/::1"),
        ("2001:db8:0:0:0:0:ff00:42", "2001:db8::ff00:42"),
        ("fe80:0:0:0:0:0:0:1%eth0", "/fe80::1%eth0"),
    ],
)
def test_a_rule_about_an_address_of_ipv6_is_obeyed_as_java_writes_it(rule_host, host):
    """ACL-10: a rule that was made for a Kafka denies here, too."""
    made = authorizer("allow alice READ TOPIC t", f"deny alice READ TOPIC t from {rule_host}")
    right = Right(AclOperation.READ, TOPIC)

    assert not made.authorize("User:alice", host, right, "t")
    assert not made.authorize_by_resource_type("User:alice", host, right)
    assert made.authorize("User:alice", "/::2", right, "t")


def test_names_longer_than_any_topics_take_no_memory():
    """ACL-10: a client may ask about as many as it likes, of 32 KiB each."""
    made, right = authorizer("allow alice READ TOPIC t*"), Right(AclOperation.READ, TOPIC)
    tracemalloc.start()
    try:
        for number in range(500):
            assert made.authorize("User:alice", "/::1", right, f"t{number}".ljust(32_000, "x"))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()


def naive(acls: list[AclBinding], principal: str, host: str, right: Right, name: str, *, default: bool) -> bool:
    """The rules, one after the other."""
    about = [acl for acl in acls if acl.resource_type is right.resource_type and covers(acl, name)]
    mine = [acl for acl in about if acl.principal in (principal, "User:*") and acl.host in (host, "*")]
    named = {AclOperation.ALL, right.operation}
    if any(acl.permission_type is DENY and acl.operation in named for acl in mine):
        return False
    named |= IMPLYING.get(right.operation, set())
    return any(acl.permission_type is ALLOW and acl.operation in named for acl in mine) or (default and not about)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(BINDINGS, max_size=8),
    st.lists(st.integers(0, 7), max_size=3),
    PRINCIPALS,
    HOSTS,
    st.sampled_from([each for each in AclOperation if each > AclOperation.ALL]),
    NAMES,
    st.booleans(),
)
def test_the_index_decides_as_a_search_through_every_rule(acls, removed, principal, host, operation, name, default):
    """ACL-10."""
    made, right = StandardAuthorizer(allow_if_no_acl=default), Right(operation, TOPIC)
    for acl in acls:
        made.add(acl)
    for at in removed:
        if at < len(acls):
            made.remove(acls[at])
            acls = [acl for acl in acls if acl != acls[at]]

    assert set(made.acls()) == set(acls)
    assert made.authorize(principal, host, right, name) is naive(acls, principal, host, right, name, default=default)
    any_name = made.authorize_by_resource_type(principal, host, right)
    if operation not in IMPLYING:  # Kafka leaves implied operations out there
        # A literal rule allows its name, a prefixed one also a name that no other rule is about.
        candidates = [acl.resource_name + tail for acl in acls for tail in ("", "~" * (acl.pattern_type is PREFIXED))]
        fresh = "~" if [acl for acl in acls if acl.resource_name == "*"] else None
        found = any(naive(acls, principal, host, right, each, default=False) for each in (*candidates, fresh) if each)
        assert any_name is (found or naive(acls, principal, host, right, "hardcode", default=default))


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AclBindingFilter(), {"t", "t*", "*", "g"}),
        (AclBindingFilter(resource_type=TOPIC), {"t", "t*", "*"}),
        (AclBindingFilter(resource_name="t"), {"t", "t*"}),
        (AclBindingFilter(resource_name="t", pattern_type=LITERAL), {"t"}),
        (AclBindingFilter(TOPIC, "t", PatternType.MATCH), {"t", "t*", "*"}),
        (AclBindingFilter(TOPIC, "t1", PatternType.MATCH), {"t*", "*"}),
        (AclBindingFilter(pattern_type=PREFIXED), {"t*"}),
        (AclBindingFilter(principal="User:bob"), {"g"}),
        (AclBindingFilter(host="*", operation=AclOperation.READ, permission_type=ALLOW), {"t", "t*", "*", "g"}),
        (AclBindingFilter(permission_type=DENY), set()),
        (AclBindingFilter(operation=AclOperation.ALL), set()),
    ],
)
def test_a_filter_selects_rules_as_kafkas(wanted, found):
    """ACL-11: MATCH finds the rules that are about a name."""
    names = {"t": "alice READ TOPIC t", "t*": "alice READ TOPIC t*", "*": "alice READ TOPIC *", "g": "bob READ GROUP g"}
    rules = {rule(f"allow {text}"): name for name, text in names.items()}

    assert {name for acl, name in rules.items() if wanted.matches(acl)} == found


def test_properties_make_an_authorizer_or_none():
    """ACL-10: without `authorizer.class.name` everybody may do everything."""
    read = Right(AclOperation.READ, TOPIC)
    given = {"authorizer.class.name": STANDARD, "super.users": " User:a ;User:CN=b,O=c;"}
    made = parse_authorizer(given)

    assert parse_authorizer({"super.users": "User:a"}) is None
    assert made is not None
    assert [made.authorize(user, "/1.1.1.1", read, "t") for user in ("User:a", "User:CN=b,O=c", "User:d")] == [1, 1, 0]
    with pytest.raises(ConfigError, match=r"super\.users.*'a' is no principal; write User:a"):
        parse_authorizer({**given, "super.users": "a"})
    with pytest.raises(ConfigError, match=r"authorizer\.class\.name"):
        parse_authorizer({"authorizer.class.name": "com.example.Own"})
