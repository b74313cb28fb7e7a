"""Secrets are known, and taken out of texts, whatever several threads and connectors do at the same time."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Mapping

import pytest
from tests.kip618.group import PLUGINS

from eosfw.config.worker import WORKER
from eosfw.runtime.checks import config_transformer
from eosfw.runtime.checks.config_transformer import WorkerConfigTransformer
from eosfw.runtime.checks.log_redaction import LogRedaction


class Unprintable:
    """An argument that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def test_secrets_that_two_threads_learn_at_the_same_time_are_both_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    transformer = WorkerConfigTransformer(WORKER.parse({"group.id": "g"}), PLUGINS)
    find = config_transformer.secret_values

    def find_while_another_learns(properties: Mapping[str, str], *definition: object) -> frozenset[str]:
        monkeypatch.setattr(config_transformer, "secret_values", find)
        transformer.transform({"password": "second-secret"})
        return find(properties)

    monkeypatch.setattr(config_transformer, "secret_values", find_while_another_learns)
    transformer.transform({"password": "first-secret"})

    assert transformer.redact("first-secret, second-secret") == "[hidden], [hidden]"


@pytest.mark.parametrize(
    ("text", "arguments"),
    [("%d records", ("second-secret",)), ("%s and %s", ("second-secret",)), ("%s", (Unprintable(),))],
)
def test_a_log_call_with_arguments_that_do_not_fit_fails_nobody_and_shows_no_secret(
    text: str, arguments: tuple[object, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """As `logging` has it without a redaction: a mistake in a connector's log call must not end its task."""
    logger, shown = logging.getLogger("leaky.driver"), io.StringIO()
    handler = logging.StreamHandler(shown)
    logging.getLogger().addHandler(handler)
    redaction = LogRedaction(lambda given: given.replace("second-secret", "[hidden]"))
    redaction.start()
    try:
        logger.error(text, *arguments)
    finally:
        redaction.stop()
        logging.getLogger().removeHandler(handler)

    assert text in shown.getvalue()
    assert "second-secret" not in shown.getvalue() + capsys.readouterr().err


def test_of_secrets_that_are_replaced_for_years_the_newest_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A config provider may give a new password each hour; the worker must not grow by it, or log ever slower."""
    monkeypatch.setattr(config_transformer, "MOST_SECRETS", 10)
    transformer = WorkerConfigTransformer(WORKER.parse({"group.id": "g"}), PLUGINS)
    for number in range(100):
        transformer.transform({"password": "always-in-use"})
        transformer.transform({"password": f"replaced-{number}"})

    assert transformer.redact("always-in-use replaced-99 replaced-98") == "[hidden] [hidden] [hidden]"
    assert transformer.redact("replaced-0") == "replaced-0"


def test_a_line_of_the_log_costs_little_where_thousands_of_connectors_have_secrets() -> None:
    """To match a pattern of 20,000 secrets took half a second for each line, and seconds after each new one."""
    transformer = WorkerConfigTransformer(WORKER.parse({"group.id": "g"}), PLUGINS)
    for number in range(20_000):
        transformer.transform({"password": f"secret-{number:06}-of-a-connector"})
    line = "connector c was started with what it has, and its five tasks run on this worker now"

    began = time.perf_counter()
    assert all(transformer.redact(line) == line for _ in range(5))

    assert time.perf_counter() - began < 1.0


def test_a_handler_of_one_logger_shows_no_secret() -> None:
    """As a program may give one to a library that it listens to, beside those that are for everything."""
    logger, shown = logging.getLogger("leaky.driver"), io.StringIO()
    handler = logging.StreamHandler(shown)
    logger.addHandler(handler)
    redaction = LogRedaction(lambda given: given.replace("second-secret", "[hidden]"))
    redaction.start()
    try:
        logger.error("login with %s", "second-secret")
    finally:
        redaction.stop()
        logger.removeHandler(handler)

    assert shown.getvalue() == "login with [hidden]\n"
    assert handler.filters == []
