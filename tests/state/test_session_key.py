"""Session keys: made, rotated, published as Kafka Connect does, and never shown (SEC-01)."""

from __future__ import annotations

import pytest

from eosfw.state.storage.config_log import ConfigLog
from eosfw.state.storage.config_records import session_key_record
from eosfw.state.storage.session_key import SessionKey, SessionKeys, SessionKeySettings

HOUR = 3_600_000
SETTINGS = SessionKeySettings("HmacSHA256", None, HOUR)
KEY = SessionKey(bytes(range(32)), "HmacSHA256", 1_700_000_000_000)


def test_a_session_key_has_the_bytes_of_kafka_connects_record() -> None:
    """SEC-01, LOG-02: golden bytes of JsonConverter without schemas."""
    record = session_key_record(KEY)

    assert record.key == b"session-key"
    assert record.value == (
        b'{"key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","algorithm":"HmacSHA256",'
        b'"creation-timestamp":1700000000000}'
    )


def test_followers_read_the_key_that_the_leader_wrote() -> None:
    """SEC-01."""
    log = ConfigLog()
    newer = SessionKey(b"n" * 32, "HmacSHA256", KEY.creation_timestamp + HOUR)

    for key in (KEY, KEY, newer, newer):
        assert log.apply(log.position, *session_key_record(key)) is None

    assert log.session_keys == SessionKeys(newer, KEY)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "'key' is no secret"),
        (b"{}", "'key' is no secret"),
        (b'{"key":"c2VjcmV0IQ==","algorithm":7,"creation-timestamp":1}', "'algorithm' is no text"),
        (b'{"key":"c2VjcmV0IQ==","algorithm":"HmacSHA256","creation-timestamp":"1"}', "'creation-timestamp'"),
        (b'{"key":"c2VjcmV0IQ","algorithm":"HmacSHA256","creation-timestamp":1}', "'key' is no secret"),
        (b'{"key":"c2Vj!cmV0","algorithm":"HmacSHA256","creation-timestamp":1}', "'key' is no secret"),
        (b'{"key":"secret!","algorithm":"HmacSHA256","creation-timestamp":1}', "'key' is no secret"),
        (b'{"key":"","algorithm":"HmacSHA256","creation-timestamp":1}', "'key' is no secret"),
        (b"secret!", "no JSON"),
    ],
)
def test_a_malformed_session_key_is_skipped_without_showing_it(value: bytes | None, reason: str) -> None:
    """SEC-01: the key before it stays in use."""
    log = ConfigLog()
    log.apply(0, *session_key_record(KEY))

    problem = log.apply(1, b"session-key", value) or ""

    assert reason in problem
    assert "secret!" not in problem
    assert "c2VjcmV0" not in problem
    assert log.session_keys == SessionKeys(KEY)


@pytest.mark.parametrize(
    ("algorithm", "bits", "length"),
    [("HmacSHA256", None, 32), ("HmacSHA384", None, 48), ("HmacSHA512", None, 64), ("HmacSHA256", 129, 17)],
)
def test_a_key_has_the_size_of_its_algorithm_unless_told(algorithm: str, bits: int | None, length: int) -> None:
    """SEC-01."""
    key = SessionKeySettings(algorithm, bits, HOUR).new_key(5, bytes)

    assert key == SessionKey(bytes(length), algorithm, 5)


@pytest.mark.parametrize(
    ("current", "settings", "age", "due"),
    [
        (None, SETTINGS, 0, True),
        (KEY, SETTINGS, HOUR - 1, False),
        (KEY, SETTINGS, HOUR, True),
        (KEY, SETTINGS, 2 * HOUR, True),
        (KEY, SessionKeySettings("HmacSHA256", None, 1), 1, True),
        (KEY, SessionKeySettings("HmacSHA256", None, 0), 100 * HOUR, False),
        (KEY, SessionKeySettings("HmacSHA512", None, HOUR), 0, True),
        (KEY, SessionKeySettings("HmacSHA256", 512, HOUR), 0, True),
        (KEY, SessionKeySettings("HmacSHA256", 128, HOUR), 0, True),
    ],
)
def test_a_leader_rotates_a_key_that_is_missing_old_or_unlike_its_own(
    current: SessionKey | None, settings: SessionKeySettings, age: int, *, due: bool
) -> None:
    """SEC-01."""
    assert settings.rotation_due(current, KEY.creation_timestamp + age) is due


@pytest.mark.parametrize("shown", [repr, str, "{}".format])
def test_no_text_of_a_key_shows_its_bytes(shown: object) -> None:
    """SEC-01."""
    canary = SessionKey(b"canary-canary", "HmacSHA256", 1)

    for one in (canary, SessionKeys(canary, canary)):
        assert "canary" not in shown(one)  # type: ignore[operator]
