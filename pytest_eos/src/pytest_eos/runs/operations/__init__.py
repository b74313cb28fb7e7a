"""The history of a run or of a query, as operations for the checker of `eosfw verify`."""

from pytest_eos.runs.operations.query_history import query_operations
from pytest_eos.runs.operations.run_history import operations_of

__all__ = ["operations_of", "query_operations"]
