"""Watch a run: gates at named steps, its history, a picture of its transactions."""

from eosfw.observe.announcer import Announcer
from eosfw.observe.event_aggregation import Lane, OpenTask, Outcome, Transaction
from eosfw.observe.gates import Freeze, Gate, Gates
from eosfw.observe.history import History

__all__ = ["Announcer", "Freeze", "Gate", "Gates", "History", "Lane", "OpenTask", "Outcome", "Transaction"]
