"""Check the history of a run for named anomalies, each with the events that show it (as Jepsen's checkers do)."""

from eosfw.checker.anomaly import Anomaly
from eosfw.checker.checking import ALL_CHECKS, CheckedHistory, Judgement, check_history
from eosfw.checker.history_file import read_history, write_history
from eosfw.checker.operation import NONE, OPERATIONS, Operation, operation_from_json, operation_to_json
from eosfw.checker.report import report_lines

__all__ = [
    "ALL_CHECKS",
    "NONE",
    "OPERATIONS",
    "Anomaly",
    "CheckedHistory",
    "Judgement",
    "Operation",
    "check_history",
    "operation_from_json",
    "operation_to_json",
    "read_history",
    "report_lines",
    "write_history",
]
