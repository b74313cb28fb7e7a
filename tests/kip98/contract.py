"""Offer the contract of backends under its old name."""

from pytest_eos.contracts import BackendContract

__all__ = ["BackendContract"]
