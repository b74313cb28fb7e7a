"""Signatures of requests between workers: each way to forge one, with its status (SEC-02, SEC-03)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import replace

import pytest

from eosfw.state.group import request_signature
from eosfw.state.group.request_signature import (
    ALGORITHM_HEADER,
    MAX_CLOCK_SKEW_MS,
    NONCE_HEADER,
    RECEIVER_HEADER,
    SIGNATURE_HEADER,
    TIME_HEADER,
    ReplayCache,
    SignatureCheck,
    SignatureRules,
    SignedContent,
    signature_headers,
)
from eosfw.state.storage.session_key import SessionKey, SessionKeys

NOW = 1_700_000_000_000
HOUR = 3_600_000
OLD = SessionKey(b"o" * 32, "HmacSHA256", NOW - 2 * HOUR)
KEY = SessionKey(b"k" * 32, "HmacSHA256", NOW - HOUR)
HERE = "worker-2"
FENCE = SignedContent(HERE, "PUT", "/connectors/c/fence?forward=false", b"")
ALLOWED = ("HmacSHA256", "HmacSHA512")


def rules(keys: SessionKeys = SessionKeys(KEY, OLD), algorithms: tuple[str, ...] = ALLOWED) -> SignatureRules:  # noqa: B008 it is frozen
    return SignatureRules(algorithms, keys, ReplayCache())


def signed(
    content: SignedContent = FENCE,
    key: SessionKey = KEY,
    algorithm: str = "HmacSHA256",
    now: int = NOW,
    nonce: str = "n0nce",
) -> dict[str, str]:
    """The headers as a server gives them on: names in lower case, texts that are no constants of ours."""
    headers = signature_headers(content, key, algorithm, now=now, nonce=nonce)
    return {name.lower(): text.encode().decode() for name, text in headers.items()}


def changed(**headers: str | None) -> dict[str, str]:
    by_name = {
        "signature": SIGNATURE_HEADER,
        "algorithm": ALGORITHM_HEADER,
        "time": TIME_HEADER,
        "nonce": NONCE_HEADER,
        "receiver": RECEIVER_HEADER,
    }
    given: dict[str, str | None] = dict(signed())
    given.update({by_name[name].lower(): text for name, text in headers.items()})
    return {name: text for name, text in given.items() if text is not None}


@pytest.mark.parametrize("nonce", ["1", "n" * 64])
@pytest.mark.parametrize("algorithm", ALLOWED)
def test_a_signed_request_is_valid_once(algorithm: str, nonce: str) -> None:
    """SEC-02."""
    checked = rules()
    headers = signed(algorithm=algorithm, nonce=nonce)

    assert checked.check(FENCE, headers, NOW) is SignatureCheck.VALID
    assert checked.check(FENCE, headers, NOW) is SignatureCheck.REPLAYED
    assert SignatureCheck.REPLAYED.status == 403


def test_the_headers_are_kafka_connects_and_three_more() -> None:
    """SEC-02."""
    headers = signature_headers(FENCE, KEY, "HmacSHA256", now=NOW, nonce="n0nce")

    covered = json.dumps(["PUT", FENCE.path, hashlib.sha256(b"").hexdigest(), str(NOW), "n0nce", HERE]).encode()
    assert headers == {
        "X-Connect-Authorization": base64.b64encode(hmac.digest(KEY.key, covered, "sha256")).decode(),
        "X-Connect-Request-Signature-Algorithm": "HmacSHA256",
        "X-Eosfw-Request-Time": str(NOW),
        "X-Eosfw-Request-Nonce": "n0nce",
        "X-Eosfw-Request-Receiver": HERE,
    }


WITHOUT_ANY: Mapping[str, str] = {}


@pytest.mark.parametrize(
    ("headers", "found", "status"),
    [
        pytest.param(WITHOUT_ANY, SignatureCheck.MISSING, 400, id="unsigned"),
        pytest.param(changed(signature=None), SignatureCheck.MISSING, 400, id="no signature"),
        pytest.param(changed(algorithm=None), SignatureCheck.MISSING, 400, id="no algorithm"),
        pytest.param(changed(time=None), SignatureCheck.MISSING, 400, id="no time"),
        pytest.param(changed(nonce=None), SignatureCheck.MISSING, 400, id="no nonce"),
        pytest.param(changed(receiver=None), SignatureCheck.MISSING, 400, id="no receiver"),
        pytest.param(changed(algorithm="none"), SignatureCheck.ALGORITHM_NOT_ALLOWED, 400, id="none"),
        pytest.param(changed(algorithm="HmacMD5"), SignatureCheck.ALGORITHM_NOT_ALLOWED, 400, id="HmacMD5"),
        pytest.param(changed(algorithm="HmacSHA384"), SignatureCheck.ALGORITHM_NOT_ALLOWED, 400, id="not listed"),
        pytest.param(changed(algorithm=""), SignatureCheck.ALGORITHM_NOT_ALLOWED, 400, id="empty algorithm"),
        pytest.param(changed(signature="%%%"), SignatureCheck.MALFORMED, 400, id="bad base64"),
        pytest.param(changed(signature="AAé="), SignatureCheck.MALFORMED, 400, id="not ASCII"),
        pytest.param(changed(time="soon"), SignatureCheck.MALFORMED, 400, id="time is no number"),
        pytest.param(changed(time="-1"), SignatureCheck.MALFORMED, 400, id="negative time"),
        pytest.param(changed(time="9" * 20), SignatureCheck.MALFORMED, 400, id="endless time"),
        pytest.param(changed(nonce="a b"), SignatureCheck.MALFORMED, 400, id="odd nonce"),
        pytest.param(changed(nonce=""), SignatureCheck.MALFORMED, 400, id="empty nonce"),
        pytest.param(changed(nonce="n" * 65), SignatureCheck.MALFORMED, 400, id="long nonce"),
        pytest.param(changed(signature=""), SignatureCheck.WRONG, 403, id="empty signature"),
        pytest.param(changed(signature="AAAA"), SignatureCheck.WRONG, 403, id="short signature"),
        pytest.param(changed(nonce="0ther"), SignatureCheck.WRONG, 403, id="other nonce"),
        pytest.param(changed(time=str(NOW + 1)), SignatureCheck.WRONG, 403, id="other time"),
        pytest.param(changed(algorithm="HmacSHA512"), SignatureCheck.WRONG, 403, id="other algorithm"),
        pytest.param(
            signed(replace(FENCE, path="/connectors/other/fence?forward=false")),
            SignatureCheck.WRONG,
            403,
            id="other connector's",
        ),
        pytest.param(signed(replace(FENCE, method="POST")), SignatureCheck.WRONG, 403, id="other method's"),
        pytest.param(signed(replace(FENCE, body=b"[]")), SignatureCheck.WRONG, 403, id="other body's"),
        pytest.param(changed(receiver="worker-1"), SignatureCheck.WRONG, 403, id="other receiver"),
        pytest.param(
            signed(replace(FENCE, receiver="worker-1")), SignatureCheck.OTHER_RECEIVER, 403, id="for another worker"
        ),
        pytest.param(signed(replace(FENCE, receiver="worker-3")), SignatureCheck.OTHER_RECEIVER, 403, id="for a third"),
        pytest.param(signed(key=OLD), SignatureCheck.WRONG, 403, id="old key"),
        pytest.param(signed(now=NOW - HOUR), SignatureCheck.NOT_FRESH, 403, id="an hour ago"),
        pytest.param(signed(now=NOW + HOUR), SignatureCheck.NOT_FRESH, 403, id="in an hour"),
        pytest.param(signed(now=NOW + 60_001), SignatureCheck.NOT_FRESH, 403, id="in more than a minute"),
        pytest.param(signed(now=10**18), SignatureCheck.NOT_FRESH, 403, id="in an age"),
    ],
)
def test_a_request_that_is_not_properly_signed_is_refused(
    headers: Mapping[str, str], found: SignatureCheck, status: int
) -> None:
    """SEC-02, SEC-03."""
    assert rules().check(FENCE, headers, NOW) is found
    assert found.status == status
    assert found.message


def test_a_worker_without_a_key_asks_to_wait() -> None:
    """SEC-03: 503, and not 403: nobody has done anything wrong."""
    assert rules(SessionKeys()).check(FENCE, signed(), NOW) is SignatureCheck.NO_KEY_YET
    assert SignatureCheck.NO_KEY_YET.status == 503


def test_the_previous_key_is_accepted_for_a_minute_after_a_rotation() -> None:
    """SEC-02: no storm of refusals while workers read the new key; a clock may be behind the leader's."""
    rotated = SessionKeys(SessionKey(b"n" * 32, "HmacSHA256", NOW), KEY)
    later = NOW + 60_001

    for now in (NOW - 1, NOW + 1, NOW + 60_000):
        assert rules(rotated).check(FENCE, signed(), now) is SignatureCheck.VALID
    assert rules(rotated).check(FENCE, signed(now=later), later) is SignatureCheck.WRONG


@pytest.mark.parametrize("skew", [-MAX_CLOCK_SKEW_MS, MAX_CLOCK_SKEW_MS])
def test_clocks_may_differ_by_a_minute(skew: int) -> None:
    """SEC-02."""
    assert rules().check(FENCE, signed(now=NOW + skew), NOW) is SignatureCheck.VALID


def test_a_nonce_is_remembered_as_long_as_its_request_is_fresh() -> None:
    """SEC-02: a request from the future is the last one to expire."""
    checked = rules()
    ahead = signed(now=NOW + MAX_CLOCK_SKEW_MS)
    assert checked.check(FENCE, ahead, NOW) is SignatureCheck.VALID

    assert checked.check(FENCE, ahead, NOW + 2 * MAX_CLOCK_SKEW_MS) is SignatureCheck.REPLAYED
    assert checked.check(FENCE, ahead, NOW + 2 * MAX_CLOCK_SKEW_MS + 1) is SignatureCheck.NOT_FRESH


def test_a_forged_request_uses_up_no_memory_and_no_nonce() -> None:
    """SEC-02: only what a worker signed is remembered, and that only for two minutes."""
    checked = rules()
    assert checked.check(FENCE, changed(signature="AAAA"), NOW) is SignatureCheck.WRONG
    assert len(checked.replays) == 0

    for number in range(100):
        assert checked.check(FENCE, signed(nonce=f"n{number}"), NOW) is SignatureCheck.VALID
    later = NOW + 2 * MAX_CLOCK_SKEW_MS + 1
    assert checked.check(FENCE, signed(now=later), later) is SignatureCheck.VALID
    assert len(checked.replays) == 1


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """SEC-02: how long a refusal takes tells nothing about the signature."""
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(
        request_signature.hmac, "compare_digest", lambda first, second: compared.append(1) or real(first, second)
    )

    assert rules().check(FENCE, signed(), NOW) is SignatureCheck.VALID
    assert compared


def test_parts_of_a_request_cannot_pass_for_each_other() -> None:
    """SEC-02: a line break in a path moves nothing from one part to the next."""
    tricky = SignedContent(HERE, "PUT", '/c", "x\n', b"")

    assert tricky.bytes_to_sign("1", "n") != SignedContent(HERE, "PUT", "/c", b"").bytes_to_sign("1", "n")
    assert len(json.loads(tricky.bytes_to_sign("1", "n"))) == 6


def test_the_body_of_a_request_is_not_shown() -> None:
    """SEC-02: it may hold the secrets of a task's configuration."""
    assert "canary" not in repr(SignedContent(HERE, "POST", "/connectors/c/tasks", b"canary"))
