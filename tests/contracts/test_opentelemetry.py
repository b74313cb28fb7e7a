"""eosfw-opentelemetry keeps the contract of observers."""

import pytest

from eosfw_opentelemetry.span_observer import SpanObserver
from pytest_eos.contracts import ObserverContract


class TestSpans(ObserverContract):
    @pytest.fixture
    def observer_class(self):
        return SpanObserver
