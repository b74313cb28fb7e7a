"""Offer the laboratory of the contracts under its old name."""

from pytest_eos.contracts.laboratory import COMMITTED, UNCOMMITTED, WAIT, Lab, Row, record

__all__ = ["COMMITTED", "UNCOMMITTED", "WAIT", "Lab", "Row", "record"]
