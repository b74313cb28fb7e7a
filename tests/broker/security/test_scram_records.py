"""Credentials for SCRAM survive in the broker's log, as keys that are no passwords."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace as Request
from typing import Any

import pytest
from scramp import ScramClient

from eosfw.errors import DamagedDataError
from eosfw_memory.common.codes import Code
from eosfw_memory.server.broker.broker import Broker, Context
from eosfw_memory.server.broker.scram_records import ScramCredentialKey, decode_value, encode_key, encode_value
from eosfw_memory.server.protocol.handlers.scram import alter_user_scram_credentials
from eosfw_memory.server.security.sasl_server import SaslError
from eosfw_memory.server.security.scram_credential import ScramCredential, ScramMechanism
from eosfw_memory.server.security.scram_server import ScramCredentials, ScramServer

from ..brokers import started

PASSWORD = "pencil-of-alice"
SALT = b"0123456789abcdef"
SHA_512 = ScramMechanism.SCRAM_SHA_512
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


def altered(broker: Broker, *, deletions: Any = (), upsertions: Any = ()) -> list[Code]:
    request = Request(deletions=deletions, upsertions=upsertions)
    answer: Any = broker.serve(alter_user_scram_credentials.handle, request, Context(0))
    return [each["error_code"] for each in answer["results"]]


def password(user: str, text: str = PASSWORD) -> Request:
    salted = hashlib.pbkdf2_hmac("sha512", text.encode(), SALT, 4096)
    return Request(name=user, mechanism=2, iterations=4096, salt=SALT, salted_password=salted)


def lets_in(broker: Broker, user: str, text: str, named: dict[str, str] | None = None) -> bool:
    """Whether a listener, whose properties name some users, lets one in."""
    server = ScramServer(ScramCredentials(SHA_512, named or {}), broker.scram.lookup)
    client = ScramClient(["SCRAM-SHA-512"], user, text)
    client.set_server_first(server.evaluate_response(client.get_client_first().encode()).decode())
    try:
        client.set_server_final(server.evaluate_response(client.get_client_final().encode()).decode())
    except SaslError:
        return False
    return server.complete


@pytest.mark.parametrize("authorizer", [{}, AUTHORIZER])
def test_passwords_survive_a_restart_and_those_that_were_removed_stay_away(
    tmp_path: Path, authorizer: dict[str, str]
) -> None:
    """SEC-42: and the log has neither a password nor what a client could log in with."""
    before = started(tmp_path, authorizer)
    assert altered(before, upsertions=[password("alice"), password("bob")]) == [Code.NONE] * 2
    assert altered(before, deletions=[Request(name="bob", mechanism=2)]) == [Code.NONE]
    before.close()

    after = started(tmp_path, authorizer)
    for _ in range(2):
        assert lets_in(after, "alice", PASSWORD)
        assert not lets_in(after, "alice", "another")
        assert not lets_in(after, "bob", PASSWORD)
        after.restart()
    after.close()
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.log"))
    assert SALT in kept
    assert PASSWORD.encode() not in kept
    assert password("alice").salted_password not in kept


def test_a_password_that_was_set_by_request_counts_before_that_of_the_properties() -> None:
    """SEC-42: else who learned the old one could still use it."""
    broker, named = started(), {"alice": "of the file"}

    assert lets_in(broker, "alice", "of the file", named)
    assert altered(broker, upsertions=[password("alice")]) == [Code.NONE]
    assert [lets_in(broker, "alice", text, named) for text in (PASSWORD, "of the file")] == [True, False]


@pytest.mark.parametrize("changed", [{"salted_password": b""}, {"salt": SALT[:11]}])
def test_what_nobody_could_log_in_with_is_refused(changed: dict[str, bytes]) -> None:
    """SEC-41: Kafka fails without a password, and takes a salt of any length."""
    upsertion = Request(**{**vars(password("alice")), **changed})

    assert altered(started(), upsertions=[upsertion]) == [Code.UNACCEPTABLE_CREDENTIAL]


@pytest.mark.parametrize("user", ["a", "eleven-byte", "x" * 300])
def test_a_record_is_kafkas_and_its_key_is_longer_than_that_of_an_access_rule(user: str) -> None:
    """SEC-42."""
    whose, credential = ScramCredentialKey(user, SHA_512), ScramCredential(SALT, b"stored", b"server", 4096)

    assert len(encode_key(whose)) > 16
    assert decode_value(encode_value(whose, credential)) == (whose, credential)
    assert "stored" not in f"{credential!r}"
    for damaged in (b"", encode_value(whose, credential)[:-6], b"\x01\x0e\x00"):
        with pytest.raises(DamagedDataError):
            decode_value(damaged)
