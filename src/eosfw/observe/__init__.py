"""Observation of a run: gates at named steps, its history, its metrics, a timeline."""

from eosfw.logging_context import LoggingContext, current_logging_context
from eosfw.observe.announcer import Announcer
from eosfw.observe.connector_states import SEVERITY, severity, worst_state
from eosfw.observe.event_aggregation import Lane, OpenTask, Outcome, Transaction
from eosfw.observe.event_json import event_from_json, event_to_json
from eosfw.observe.exported_metrics import ExportedMetric, exported
from eosfw.observe.gates import Freeze, Gate, Gates
from eosfw.observe.history import History
from eosfw.observe.metrics import Metrics
from eosfw.observe.plugin_metrics import PluginMetricsRegistry, unread_metrics
from eosfw.state.steps import LEADER, MICRO_BATCH, STARTUP, TRANSACTION, StepEvent, TaskStep
from eosfw.state.tasks.metrics import Metric

__all__ = [
    "LEADER",
    "MICRO_BATCH",
    "SEVERITY",
    "STARTUP",
    "TRANSACTION",
    "Announcer",
    "ExportedMetric",
    "Freeze",
    "Gate",
    "Gates",
    "History",
    "Lane",
    "LoggingContext",
    "Metric",
    "Metrics",
    "OpenTask",
    "Outcome",
    "PluginMetricsRegistry",
    "StepEvent",
    "TaskStep",
    "Transaction",
    "current_logging_context",
    "event_from_json",
    "event_to_json",
    "exported",
    "severity",
    "unread_metrics",
    "worst_state",
]
