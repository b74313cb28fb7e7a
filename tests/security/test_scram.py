"""SCRAM's messages are those of the standard."""

from __future__ import annotations

import pytest

from eosfw.security.scram import ScramClient, ScramRefusedError

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
"""RFC 7677, section 3."""


def exchanged() -> ScramClient:
    client = ScramClient("sha256", "user", "pencil", NONCE)
    assert client.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    proof = b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert client.final(SERVER_FIRST) == b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0," + proof
    return client


def test_the_example_of_the_standard_is_reproduced() -> None:
    exchanged().verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")


@pytest.mark.parametrize("last", [b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95Gg=", b"e=invalid-proof", b""])
def test_a_server_that_does_not_know_the_password_is_refused(last: bytes) -> None:
    with pytest.raises(ScramRefusedError):
        exchanged().verify(last)


@pytest.mark.parametrize("first", [b"r=other,s=W22Z,i=4096", b"r=rOprNGfwEbeRWgbNEkqO1,s=W22Z,i=9999999", b"i=1"])
def test_a_server_that_repeats_an_old_exchange_or_asks_for_too_much_work_is_refused(first: bytes) -> None:
    with pytest.raises(ScramRefusedError):
        ScramClient("sha256", "user", "pencil", NONCE).final(first)


@pytest.mark.parametrize("iterations", [b"1", b"4095", b"-1", b"", "\u0664".encode() * 4, b"9" * 5000])
def test_a_server_that_would_get_a_proof_made_with_little_work_gets_none(iterations: bytes) -> None:
    """Whoever pretends to be a broker could try a million passwords a second against it."""
    with pytest.raises(ScramRefusedError):
        ScramClient("sha256", "user", "pencil", NONCE).final(b"r=%bx,s=W22Z,i=%b" % (NONCE.encode(), iterations))
