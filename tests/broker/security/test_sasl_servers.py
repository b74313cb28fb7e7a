"""The mechanisms, token by token."""

from __future__ import annotations

import pytest
from scramp import ScramClient

from eosfw_memory.server.security.plain_server import PlainServer
from eosfw_memory.server.security.sasl_server import SaslAuthenticationError, SaslError
from eosfw_memory.server.security.scram_credential import ScramMechanism
from eosfw_memory.server.security.scram_server import ScramCredentials, ScramServer

PASSWORDS = {"alice": "secrét", "bob": "other"}
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def plain(token: str) -> PlainServer:
    server = PlainServer(PASSWORDS)
    assert server.evaluate_response(token.encode()) == b""
    return server


@pytest.mark.parametrize("token", ["\0alice\0secrét", "alice\0alice\0secrét"])
def test_plain_takes_the_password_of_the_user(token):
    """SEC-23."""
    server = plain(token)

    assert (server.complete, server.authorization_id) == (True, "alice")


@pytest.mark.parametrize(
    ("token", "sentence"),
    [
        ("\0alice\0other", "Authentication failed: Invalid username or password"),
        ("\0nobody\0other", "Authentication failed: Invalid username or password"),
        ("\0alice\0", "Authentication failed: password not specified"),
        ("\0\0secrét", "Authentication failed: username not specified"),
        ("bob\0alice\0secrét", "Client requested an authorization id that is different from username"),
        ("bob\0alice\0wrong", "Authentication failed: Invalid username or password"),
        ("alice\0secrét", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
        ("\0alice\0secrét\0", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
    ],
)
def test_plain_refuses_with_kafkas_sentence(token, sentence):
    """SEC-23: the same for an unknown name and for a wrong password; whom a client asks to be comes behind both."""
    server = PlainServer(PASSWORDS)
    with pytest.raises(SaslAuthenticationError) as refused:
        server.evaluate_response(token.encode())

    assert sentence in str(refused.value)
    assert "secr" not in repr(refused.value)
    assert not server.complete


def scram(mechanism: str, name: str, password: str) -> tuple[ScramServer, ScramClient, bytes]:
    """An exchange of which the last token is still to be sent."""
    credentials = ScramCredentials(ScramMechanism.from_mechanism_name(mechanism), PASSWORDS)
    server, client = ScramServer(credentials), ScramClient([mechanism], name, password)
    challenge = server.evaluate_response(client.get_client_first().encode())
    client.set_server_first(challenge.decode())
    return server, client, client.get_client_final().encode()


@pytest.mark.parametrize("mechanism", SCRAM)
def test_scram_takes_the_password_and_proves_that_it_knows_it(mechanism):
    """SEC-23: a client notices a broker that does not know its password."""
    server, client, token = scram(mechanism, "alice", "secrét")

    client.set_server_final(server.evaluate_response(token).decode())  # raises where the signature is another

    assert (server.complete, server.authorization_id) == (True, "alice")


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("name", ["alice", "nobody"])
def test_scram_answers_a_wrong_password_and_an_unknown_name_alike(mechanism, name):
    """SEC-23: Kafka refuses an unknown name in its first answer."""
    server, _, token = scram(mechanism, name, "wrong")
    with pytest.raises(SaslError):
        server.evaluate_response(token)

    assert not server.complete


def test_the_challenge_of_an_unknown_name_is_the_same_each_time():
    """SEC-23: as that of a user, with a salt of the same length."""
    credentials = ScramCredentials(ScramMechanism.SCRAM_SHA_512, PASSWORDS)
    found = [[credentials.lookup(name) for name in ("alice", "nobody", "nobody2")] for _ in range(2)]

    assert found[0] == found[1]
    assert len({each.salt for each in found[0]}) == 3
    assert len({tuple(map(len, each[:3])) for each in found[0]}) == 1
    assert "hidden" in repr(found[0][0])


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token.replace(b"c=biws", b"c=eSws"),
        lambda token: token.replace(b",r=", b",r=x"),
        lambda token: token[:-8] + b"AAAAAAA=",
        lambda token: token + b",p=AAAA",
        lambda token: token.replace(b",p=", b",e=1,p="),
        lambda token: b"\xff" + token,
        lambda _: b"",
        lambda _: b"," * 10_000,
    ],
)
def test_a_changed_last_token_of_scram_is_refused(change):
    """SEC-23."""
    server, _, token = scram("SCRAM-SHA-256", "alice", "secrét")
    with pytest.raises(SaslError):
        server.evaluate_response(change(token))

    assert not server.complete


@pytest.mark.parametrize(
    "token", [b"", b"n,,", b"p=tls-unique,,n=alice,r=x", b"n,a=bob,n=alice,r=x", b"n,,n=,r=x", b"\xff\xff"]
)
def test_a_first_token_of_scram_that_asks_for_what_there_is_not_is_refused(token):
    """SEC-23."""
    with pytest.raises(SaslError):
        ScramServer(ScramCredentials(ScramMechanism.SCRAM_SHA_256, PASSWORDS)).evaluate_response(token)


def test_a_recorded_exchange_of_scram_is_worth_nothing_to_another_connection():
    """SEC-23."""
    credentials, client = (
        ScramCredentials(ScramMechanism.SCRAM_SHA_256, PASSWORDS),
        ScramClient(["SCRAM-SHA-256"], "alice", "secrét"),
    )
    first = client.get_client_first().encode()
    client.set_server_first(ScramServer(credentials).evaluate_response(first).decode())
    recorded = client.get_client_final().encode()

    again = ScramServer(credentials)
    again.evaluate_response(first)
    with pytest.raises(SaslError):
        again.evaluate_response(recorded)
