"""A plugin of pytest for the tests of `eosfw certify`: after a failure, no more workers and no Spark are started."""

from __future__ import annotations

import pytest

from pytest_eos.certificate.not_tried import AFTER_FAILURE


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what runs workers: it would say the same again, and take long. Before any fixture, since Spark is one."""
    if item.session.testsfailed and "eos" in getattr(item, "fixturenames", ()):
        pytest.skip(AFTER_FAILURE)
