"""Offer the laboratory of the contracts under its old name."""

from pytest_eos.contracts.backend_harness import COMMITTED, UNCOMMITTED, WAIT, BackendHarness, Row, record

__all__ = ["COMMITTED", "UNCOMMITTED", "WAIT", "BackendHarness", "Row", "record"]
