"""What a connection may do before it is authenticated."""

from __future__ import annotations

import logging
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.concurrency import ThreadRuntime
from eosfw_memory.client.transport.apis import Fields
from eosfw_memory.client.transport.messages import format_of
from eosfw_memory.cluster import EmbeddedCluster
from eosfw_memory.common.codes import Code
from eosfw_memory.server.network.sasl_server_authenticator import (
    AuthenticationFailedError,
    SaslServerAuthenticator,
    SaslState,
)
from eosfw_memory.server.protocol.routes import ROUTES
from eosfw_memory.server.security.plain_server import PlainServer

from ..event_loop_clock import EventLoopClock
from .conftest import PASSWORD, users
from .sasl_requests import AUTHENTICATE, HANDSHAKE, METADATA, VERSIONS, Stranger

ALICE = f"\0alice\0{PASSWORD}".encode()
WRONG = b"\0alice\0wr0ng-password"
STATES = {
    SaslState.HANDSHAKE_OR_VERSIONS_REQUEST: (),
    SaslState.HANDSHAKE_REQUEST: (VERSIONS,),
    SaslState.AUTHENTICATE: (VERSIONS, HANDSHAKE),
    SaslState.COMPLETE: (VERSIONS, HANDSHAKE, AUTHENTICATE),
}
TAKEN = {
    SaslState.HANDSHAKE_OR_VERSIONS_REQUEST: {VERSIONS, HANDSHAKE},
    SaslState.HANDSHAKE_REQUEST: {HANDSHAKE},
    SaslState.AUTHENTICATE: {AUTHENTICATE},
    SaslState.COMPLETE: set(),
}
FIELDS = {
    VERSIONS: {},
    HANDSHAKE: {"mechanism": "PLAIN"},
    AUTHENTICATE: {"auth_bytes": ALICE},
}
FRAMES = {key: format_of(key, key == HANDSHAKE).frame(1, "me", Fields(**fields))[4:] for key, fields in FIELDS.items()}


def authenticator() -> SaslServerAuthenticator:
    passwords = {"alice": PASSWORD}
    versions = {"error_code": Code.NONE, "api_keys": ()}
    return SaslServerAuthenticator({"PLAIN": lambda: PlainServer(passwords)}, lambda _: versions)


def in_state(state: SaslState) -> SaslServerAuthenticator:
    made = authenticator()
    for key in STATES[state]:
        made.authenticate(FRAMES[key])
    assert made.state is state
    return made


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_only_the_requests_of_an_authentication_are_taken_each_in_its_state(state):
    """SEC-23: the body of any other is not even read."""
    for key in ROUTES:
        made = in_state(state)
        if key in TAKEN[state]:
            made.authenticate(FRAMES[key])
            continue
        with pytest.raises(AuthenticationFailedError) as refused:
            made.authenticate(FRAMES.get(key, struct.pack(">hh", key, 0) + b"\xff" * 50))
        assert refused.value.answer == ()
        assert made.state is SaslState.FAILED


@given(st.lists(st.one_of(st.sampled_from(list(FRAMES.values())), st.binary(max_size=40)), max_size=8))
@settings(max_examples=200, deadline=None)
def test_no_sequence_of_frames_but_the_right_one_authenticates(frames):
    """SEC-23: whatever comes, it is an answer or the end, never an error of the broker's own."""
    made = authenticator()
    for number, frame in enumerate(frames):
        try:
            made.authenticate(frame)
        except AuthenticationFailedError:
            assert made.state is SaslState.FAILED
            return
        if made.complete:
            sent = [each for each in frames[: number + 1] if each != FRAMES[VERSIONS]]
            assert sent == [FRAMES[HANDSHAKE], FRAMES[AUTHENTICATE]]
            assert made.principal == "User:alice"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_client_that_authenticates_is_served(secured, version):
    """SEC-23: in each version that Kafka 4.1 advertises."""
    client = Stranger(secured.endpoints["SASL_PLAINTEXT"])
    versions = {
        each["api_key"]: (each["min_version"], each["max_version"]) for each in client.ask(VERSIONS, 0)["api_keys"]
    }
    assert (versions[HANDSHAKE], versions[AUTHENTICATE]) == ((0, 1), (0, 2))

    mechanisms = client.handshake()
    answer = client.authenticate(ALICE, version)

    assert mechanisms["error_code"] == 0
    assert set(mechanisms["mechanisms"]) == {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert (answer["error_code"], answer["error_message"], answer["auth_bytes"]) == (0, None, b"")
    assert client.stays_open()
    client.close()


def test_tokens_behind_version_0_of_the_handshake_come_bare(secured):
    """SEC-23: as clients of 0.10 send them."""
    client = Stranger(secured.endpoints["SASL_PLAINTEXT"])
    client.handshake(version=0)
    client.send_bytes(struct.pack(">i", len(ALICE)) + ALICE)
    assert client.receive_bytes(4) == b"\0\0\0\0"
    assert client.stays_open()
    client.close()

    stranger = Stranger(secured.endpoints["SASL_PLAINTEXT"])
    stranger.handshake(version=0)
    stranger.send_bytes(struct.pack(">i", len(WRONG)) + WRONG)
    assert stranger.closed()
    stranger.close()


@pytest.mark.parametrize(
    ("mechanism", "token", "sentence"),
    [
        ("PLAIN", WRONG, "Authentication failed: Invalid username or password"),
        ("PLAIN", b"\0nobody\0wr0ng-password", "Authentication failed: Invalid username or password"),
        (
            "SCRAM-SHA-256",
            b"n,,n=alice",
            "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256",
        ),
    ],
)
def test_a_wrong_password_is_answered_by_kafkas_sentence_and_the_connection_ends(
    secured, caplog, mechanism, token, sentence
):
    """SEC-23: neither answer nor log has the token or tells whether there is such a user."""
    with caplog.at_level(logging.DEBUG):
        stranger = Stranger(secured.endpoints["SASL_PLAINTEXT"])
        stranger.handshake(mechanism)
        answer = stranger.authenticate(token)
        closed = stranger.closed()
        stranger.close()

    assert (answer["error_code"], answer["error_message"]) == (58, sentence)
    assert closed
    assert not any(each in caplog.text for each in ("wr0ng", PASSWORD, "alice", "nobody"))


def test_a_mechanism_that_is_not_enabled_is_refused_with_those_that_are(secured):
    """SEC-23."""
    stranger = Stranger(secured.endpoints["SASL_PLAINTEXT"])
    answer = stranger.handshake("GSSAPI")

    assert (answer["error_code"], len(answer["mechanisms"])) == (33, 3)
    assert stranger.closed()
    stranger.close()


@pytest.mark.parametrize("listener", ["PLAINTEXT", "SASL_PLAINTEXT"])
def test_an_authentication_that_nobody_awaits_is_an_illegal_state(secured, listener):
    """SEC-23: as in Kafka, on a listener without SASL, and on a connection that is authenticated."""
    client = Stranger(secured.endpoints[listener])
    if listener == "SASL_PLAINTEXT":
        client.handshake()
        client.authenticate(ALICE)

    assert client.handshake()["error_code"] == 34
    assert client.authenticate(ALICE)["error_code"] == 34
    assert client.stays_open()
    client.close()


def served(**limits: str) -> EmbeddedCluster:
    properties = {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        **{name.replace("_", "."): value for name, value in limits.items()},
    }
    return EmbeddedCluster.start(properties | users("SASL_PLAINTEXT"), ThreadRuntime())


def lines(caplog) -> int:
    """How many connections the log says to be closed."""
    return sum(
        each.getMessage().startswith("connection of") and "closed" in each.getMessage() for each in caplog.records
    )


def test_a_connection_may_send_so_many_bytes_before_it_is_authenticated_and_any_number_afterwards(caplog):
    """SEC-24: in one request or in many; the log has one line for each."""
    caplog.set_level(logging.INFO)
    cluster = served(sasl_server_max_receive_size="2000")
    one = Stranger(cluster.bootstrap_servers)
    one.send_bytes(struct.pack(">i", 2001))
    many = Stranger(cluster.bootstrap_servers)
    unsupported = struct.pack(">hhi", VERSIONS, 99, 1) + b"x" * 492  # answered, and the client may ask again
    many.send_bytes(5 * (struct.pack(">i", len(unsupported)) + unsupported))
    answers = [many.receive_bytes(struct.unpack(">i", many.receive_bytes(4))[0]) for _ in range(4)]
    known = Stranger(cluster.bootstrap_servers)
    known.handshake()
    known.authenticate(ALICE)
    names = tuple(Fields(name=f"{number:0200}") for number in range(20))
    answer = known.ask(METADATA, 4, topics=names, allow_auto_topic_creation=False)

    assert one.closed()
    assert many.closed()
    assert [struct.unpack_from(">h", each, 4) for each in answers] == [(35,)] * 4
    assert len(answer["topics"]) == 20
    assert lines(caplog) == 2
    for each in (one, many, known):
        each.close()
    cluster.close()


def test_a_connection_that_is_not_authenticated_in_time_is_closed(caplog):
    """SEC-24: whether it is silent, slow, or waits with its password; one that is authenticated stays."""
    caplog.set_level(logging.INFO)
    cluster = served(eosfw_authentication_timeout_ms="60000")
    known = Stranger(cluster.bootstrap_servers)
    known.handshake()
    known.authenticate(ALICE)
    silent, slow, waiting = (Stranger(cluster.bootstrap_servers) for _ in range(3))
    slow.send_bytes(b"\0\0")
    waiting.handshake()

    EventLoopClock(cluster).put_forward(60.1)

    assert all(each.closed() for each in (silent, slow, waiting))
    assert known.stays_open()
    assert lines(caplog) == 3
    for each in (known, silent, slow, waiting):
        each.close()
    cluster.close()


def test_what_comes_behind_a_wrong_password_is_not_looked_at(secured):
    """SEC-23: not even the right one."""
    frames = b"".join(
        format_of(key, version).frame(1, "me", Fields(**fields))
        for key, version, fields in (
            (HANDSHAKE, 1, FIELDS[HANDSHAKE]),
            (AUTHENTICATE, 0, {"auth_bytes": WRONG}),
            (AUTHENTICATE, 0, FIELDS[AUTHENTICATE]),
        )
    )
    stranger = Stranger(secured.endpoints["SASL_PLAINTEXT"])
    stranger.send_bytes(frames)
    for expected in (0, 58):
        (size,) = struct.unpack(">i", stranger.receive_bytes(4))
        assert struct.unpack_from(">h", stranger.receive_bytes(size), 4) == (expected,)
    assert stranger.closed()
    stranger.close()
