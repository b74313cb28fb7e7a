"""Spark's reading side keeps the contract of isolation readers: what it shows is what was committed."""

import pytest
from tests.contracts.spark_log import reader_over

from pytest_eos.contracts import IsolationReaderContract

pytestmark = pytest.mark.spark


class TestSpark(IsolationReaderContract):
    @pytest.fixture
    def reader_class(self, eos_spark, eos_cluster):
        return reader_over(eos_spark, eos_cluster.bootstrap_servers)
