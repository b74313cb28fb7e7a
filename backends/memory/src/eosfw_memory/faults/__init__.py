"""Make an embedded broker misbehave at a chosen moment, for tests."""

from eosfw_memory.faults.fault_injector import Fault, FaultInjector, Firing
from eosfw_memory.faults.rules import Delay, Drop, Fail, Jump, Kill, Lose, Refuse, Repeat, Restart, Rule

__all__ = [
    "Delay",
    "Drop",
    "Fail",
    "Fault",
    "FaultInjector",
    "Firing",
    "Jump",
    "Kill",
    "Lose",
    "Refuse",
    "Repeat",
    "Restart",
    "Rule",
]
