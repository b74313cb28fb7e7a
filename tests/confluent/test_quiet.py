"""The library keeps its log to itself."""

from __future__ import annotations

import logging

import pytest


def test_the_librarys_log_is_shown_at_level_info_only(caplog: pytest.LogCaptureFixture) -> None:
    """Its warnings, fatal ones included, come back as errors of calls: a command line shows each once."""
    log = logging.getLogger("eosfw_confluent.librdkafka")
    with caplog.at_level(logging.WARNING):
        log.critical("fenced")
    assert caplog.messages == []

    with caplog.at_level(logging.INFO):
        log.critical("fenced")
    assert caplog.messages == ["fenced"]
