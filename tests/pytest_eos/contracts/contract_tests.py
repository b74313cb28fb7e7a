"""Write a test file that inherits a contract, with parts of our own in its fixtures."""

from __future__ import annotations

from typing import Any

TEMPLATE = """\
import pytest
from tests.pytest_eos import broken, broken_offsets, broken_promises as bad, broken_record_parts as parts
from tests.pytest_eos import broken_resumption as resuming, broken_sources as sources, broken_worker_plugins as plugins
from tests.pytest_eos import leaking
from tests.pytest_eos.counter import CounterConnector
from pytest_eos import contracts
from eosfw.builtin.isolation import ReadCommitted
from eosfw.builtin.offset_store import KafkaOffsetStore

class TestIt(contracts.{contract}):
    @pytest.fixture
    def source(self):
        return contracts.Source({source}, {{"streams": {streams}, "until": {until}}})

    @pytest.fixture
    def store(self):
        return {store}()

    @pytest.fixture
    def reader_class(self):
        return {reader}

    @pytest.fixture
    def fencer(self, {fencer_needs}):
        return {fencer}

    @pytest.fixture
    def backend(self, eos):
        return {backend}(eos.backend)

    @pytest.fixture
    def provided(self):
        return contracts.ProvidedValues({provider}, plugins.FixedValues.values)

    @pytest.fixture
    def rest_extension_class(self):
        return {extension}

    @pytest.fixture
    def reported(self):
        return contracts.ReportedMetrics({reporter}, lambda: plugins.REPORTED)

    @pytest.fixture
    def judged(self):
        return contracts.JudgedOverrides({policy}, {{"linger.ms": "7"}}, {{"acks": "canary"}})

    @pytest.fixture
    def converted(self):
        return contracts.ConvertedValues({converter})

    @pytest.fixture
    def converted_headers(self):
        return contracts.ConvertedHeaders({header_converter})

    @pytest.fixture
    def transformed(self):
        return contracts.TransformedRecords({transformation})

    @pytest.fixture
    def chosen(self):
        return contracts.ChosenRecords({predicate})
"""
SOUND = {
    "source": "CounterConnector",
    "store": "KafkaOffsetStore",
    "reader": "ReadCommitted",
    "fencer": "None",
    "backend": "broken.Through",
    "provider": "plugins.FixedValues",
    "extension": "plugins.Ping",
    "reporter": "plugins.Remembers",
    "policy": "plugins.LingerAlone",
    "converter": "parts.Digits",
    "header_converter": "parts.TypedHeaders",
    "transformation": "parts.UpperCase",
    "predicate": "parts.IsText",
}
"""Parts that keep every promise."""


def write_contract_test(pytester: Any, contract: str, *, streams: int = 3, until: int = 12, **parts: str) -> None:
    """Write the test; `parts` takes the place of sound ones."""
    needs = "backend" if "backend" in parts.get("fencer", "") else ""
    chosen = {**SOUND, **parts}
    text = TEMPLATE.format(contract=contract, streams=streams, until=until, fencer_needs=needs, **chosen)
    pytester.makepyfile(text)
