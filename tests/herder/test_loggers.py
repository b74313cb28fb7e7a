"""Levels of loggers by REST (KIP-495, KIP-976)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from eosfw.errors import NotFoundError
from eosfw.protocols.herder import LoggerLevel

NAME = "tests.herder.loggers"


@pytest.fixture(autouse=True)
def _levels() -> Iterator[None]:
    yield
    for name in (NAME, f"{NAME}.below"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_level_reaches_the_loggers_below(group):
    herder = group.start()
    below = logging.getLogger(f"{NAME}.below")
    assert herder.set_logger_level(NAME, "trace") == [NAME, f"{NAME}.below"]
    assert below.getEffectiveLevel() == 5
    now = int(group.runtime.wall() * 1000)
    assert herder.logger(NAME) == LoggerLevel("TRACE", now)
    assert herder.loggers()[NAME] == LoggerLevel("TRACE", now)
    assert "root" in herder.loggers()


def test_level_for_the_cluster_is_set_by_every_worker_that_reads_it(group):
    herder = group.start()
    assert herder.set_logger_level(NAME, "FATAL", cluster=True) == []
    group.until(lambda: logging.getLogger(NAME).level == logging.CRITICAL, "the level")
    group.stop()
    logging.getLogger(NAME).setLevel(logging.ERROR)
    group.start("b")
    group.runtime.sleep(2)
    assert logging.getLogger(NAME).level == logging.ERROR


def test_unknown_loggers_and_levels_are_not_found(group):
    herder = group.start()
    with pytest.raises(NotFoundError, match=r"^Logger no\.such\.logger not found\.$"):
        herder.logger("no.such.logger")
    for cluster in (False, True):
        with pytest.raises(NotFoundError, match=r"^invalid log level 'LOUD'\.$"):
            herder.set_logger_level(NAME, "LOUD", cluster=cluster)
