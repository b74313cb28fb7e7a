"""Administrators set passwords for SCRAM by requests; new connections need them, as with Kafka."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from typing import NoReturn

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from conformance.calls import Caller
from eosfw.concurrency import ThreadRuntime
from eosfw.config.addresses import parse_addresses
from eosfw.config.security import SecuritySettings, security_settings
from eosfw.errors import SaslAuthenticationError
from eosfw.security import Address, check_connection
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.client.transport.channel import NotSentError
from eosfw_memory.client.transport.channel_builder import ChannelBuilder
from eosfw_memory.client.transport.sockets import SocketChannel
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from secured_kafka import SCRAM, Authority, SecuredKafka

WAIT = 30.0
DESCRIBE, ALTER = 50, 51
SHA_256, SHA_512 = 1, 2


@dataclass(frozen=True)
class Place:
    """One cluster: the listener of the administrator, that of users, the authority of its certificate."""

    plain: str
    sasl_ssl: str
    authority: Authority

    def settings(self, user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> SecuritySettings:
        """Those of a client."""
        properties = {
            "bootstrap.servers": self.sasl_ssl,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.authority.ca),
        }
        return security_settings(properties)

    def log_in(self, user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> bool:
        """Whether a new connection is let in."""
        (address,) = parse_addresses(self.sasl_ssl)
        try:
            check_connection(address, self.settings(user, password, mechanism), WAIT)
        except SaslAuthenticationError:
            return False
        return True


@pytest.fixture(scope="module")
def embedded_place(authority: Authority) -> Iterator[Place]:
    jaas = {f"listener.name.sasl_ssl.scram-sha-{bits}.sasl.jaas.config": f"{SCRAM} required;" for bits in (256, 512)}
    properties = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
        "ssl.keystore.location": str(authority.issue("scram-broker.pem", "127.0.0.1")),
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "connection.failed.authentication.delay.ms": "0",
    }
    with closing(EmbeddedCluster.start(properties | jaas, ThreadRuntime())) as cluster:
        yield Place(cluster.endpoints["PLAINTEXT"], cluster.endpoints["SASL_SSL"], authority)


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def place(request: pytest.FixtureRequest) -> Place:
    """Each cluster in turn."""
    if request.param == "embedded":
        found: Place = request.getfixturevalue("embedded_place")
        return found
    node: SecuredKafka = request.getfixturevalue("kafka")
    return Place(node.plain, node.sasl_ssl, node.authority)


@pytest.fixture
def admin(place: Place) -> AdminClient:
    return AdminClient({"bootstrap.servers": place.plain, "log_level": 0})


@pytest.fixture
def caller(place: Place) -> Iterator[Caller]:
    with closing(Caller(place.plain)) as made:
        yield made


@pytest.fixture
def user() -> str:
    """A name with which the test is alone."""
    return f"u-{uuid.uuid4().hex[:8]}"


def alter(admin: AdminClient, change: UserScramCredentialUpsertion | UserScramCredentialDeletion) -> None:
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(WAIT)


def set_password(admin: AdminClient, user: str, password: str, mechanism: str = "SCRAM_SHA_256") -> None:
    info = ScramCredentialInfo(getattr(ScramMechanism, mechanism), 8192)
    alter(admin, UserScramCredentialUpsertion(user, info, password.encode()))


def described(admin: AdminClient, user: str) -> set[tuple[str, int]] | int:
    """The mechanisms of a user with their iterations, or the code in their place."""
    try:
        found = admin.describe_user_scram_credentials([user])[user].result(WAIT)
    except KafkaException as why:
        return int(why.args[0].code())
    return {(each.mechanism.name, each.iterations) for each in found.scram_credential_infos}


def until(condition: Callable[[], bool]) -> None:
    """Kafka answers before its broker has read what its controller wrote."""
    runtime = ThreadRuntime()
    deadline = runtime.now() + WAIT
    for _ in takewhile(lambda _: not condition(), iter(int, 1)):
        assert runtime.now() < deadline, "it never came about"
        runtime.sleep(0.01)


def test_a_password_that_was_set_is_needed_until_another_one_is_set_or_it_is_removed(
    place: Place, admin: AdminClient, user: str
) -> None:
    """SEC-40: by each mechanism alone."""
    assert not place.log_in(user, "one")

    set_password(admin, user, "one")
    until(lambda: place.log_in(user, "one"))
    assert not place.log_in(user, "One")
    assert not place.log_in(user, "one", "SCRAM-SHA-512")
    set_password(admin, user, "two-é", "SCRAM_SHA_512")
    until(lambda: place.log_in(user, "two-é", "SCRAM-SHA-512"))
    assert described(admin, user) == {("SCRAM_SHA_256", 8192), ("SCRAM_SHA_512", 8192)}

    set_password(admin, user, "three")
    until(lambda: place.log_in(user, "three"))
    assert not place.log_in(user, "one")
    alter(admin, UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256))
    until(lambda: not place.log_in(user, "three"))
    assert place.log_in(user, "two-é", "SCRAM-SHA-512")
    alter(admin, UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512))
    until(lambda: described(admin, user) == Code.RESOURCE_NOT_FOUND)


def upsertion(name: str, mechanism: int = SHA_256, iterations: int = 4096) -> Fields:
    fields = {"salt": b"0123456789abcdef", "salted_password": b"p" * 32}
    return Fields(name=name, mechanism=mechanism, iterations=iterations, **fields)


def altered(caller: Caller, deletions: list[Fields], upsertions: list[Fields]) -> dict[str, tuple[Code, str | None]]:
    answer = caller.ask(ALTER, 0, deletions=deletions, upsertions=upsertions)
    return {each["user"]: (Code(each["error_code"]), each["error_message"]) for each in answer["results"]}


def shown(caller: Caller, *names: str) -> list[tuple[str, Code, str, list[tuple[int, int]]]]:
    answer = caller.ask(DESCRIBE, 0, users=[Fields(name=name) for name in names])
    assert (answer["error_code"], answer["error_message"] or "") == (Code.NONE, "")
    return sorted(
        (
            each["user"],
            Code(each["error_code"]),
            each["error_message"] or "",
            sorted((info["mechanism"], info["iterations"]) for info in each["credential_infos"]),
        )
        for each in answer["results"]
    )


TWICE = (Code.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
ABSENT = (Code.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
UNKNOWN = (Code.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
FEW, MANY = ((Code.UNACCEPTABLE_CREDENTIAL, f"Too {amount} iterations") for amount in ("few", "many"))
NAMELESS = (Code.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")


def test_a_change_that_is_refused_has_kafkas_code_and_leaves_the_others_alone(caller: Caller, user: str) -> None:
    """SEC-41: of several changes of a user none is made."""
    named = {
        name: f"{user}-{name}" for name in ("kept", "few", "many", "zero", "nine", "twice", "both", "gone", "first")
    }
    both = named["both"]
    assert altered(caller, [], [upsertion(both)]) == {both: (Code.NONE, None)}
    wanted = [
        *(upsertion(named["few"], iterations=4095), upsertion(named["many"], iterations=16_385)),
        *(upsertion(named["zero"], 0), upsertion(named["nine"], 9), upsertion("")),
        *(upsertion(named["twice"]), upsertion(named["twice"], SHA_512)),
        *(upsertion(both), upsertion(named["gone"])),
        *(upsertion(named["first"], iterations=1), upsertion(named["first"])),
        upsertion(named["kept"], SHA_512, 16_384),
    ]
    deletions = [Fields(name=name, mechanism=SHA_256) for name in (both, named["gone"])]

    expected = {
        named["few"]: FEW,
        named["many"]: MANY,
        named["first"]: FEW,
        "": NAMELESS,
        named["zero"]: UNKNOWN,
        named["nine"]: UNKNOWN,
        named["twice"]: TWICE,
        both: TWICE,
        named["gone"]: ABSENT,
        named["kept"]: (Code.NONE, None),
    }
    assert altered(caller, deletions, wanted) == expected
    until(lambda: shown(caller, named["kept"])[0][1] is Code.NONE)
    everybody = {name: infos for name, _, _, infos in shown(caller) if name.startswith(user)}
    assert everybody == {named["kept"]: [(SHA_512, 16_384)], both: [(SHA_256, 4096)]}
    assert altered(caller, [Fields(name=user, mechanism=7)], []) == {user: UNKNOWN}
    remains = [Fields(name=named["kept"], mechanism=SHA_512), Fields(name=both, mechanism=SHA_256)]
    assert {code for code, _ in altered(caller, remains, []).values()} == {Code.NONE}


def test_users_who_are_named_twice_or_have_no_credential_are_described_as_by_kafka(caller: Caller, user: str) -> None:
    """SEC-41."""
    twice = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    absent = f"Attempt to describe a user credential that does not exist: {user}2"

    assert shown(caller, user, f"{user}2", user) == [
        (user, Code.DUPLICATE_RESOURCE, twice, []),
        (f"{user}2", Code.RESOURCE_NOT_FOUND, absent, []),
    ]


class Refusing(ChannelBuilder):
    """A broker that refuses, then takes longer than the call waits."""

    def open(self, address: Address, left: Callable[[], float]) -> NoReturn:
        if left() > 1:
            raise SaslAuthenticationError("the broker refused user 'alice'")
        raise TimeoutError("timed out")


def test_an_attempt_that_the_end_of_a_call_cuts_short_still_says_why_the_ones_before_it_failed() -> None:
    """SEC-27: `timed out` alone would hide the refusal from whoever reads the status of a task."""
    runtime = ThreadRuntime()
    with closing(
        SocketChannel(Address("127.0.0.1", 9), "late", WAIT, runtime, Refusing(SecuritySettings()))
    ) as channel:
        for patience in (WAIT, 0.0):
            with pytest.raises(NotSentError, match="refused user 'alice'"):
                channel.connect(runtime.now() + patience)
