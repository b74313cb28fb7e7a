"""Faults that tests inject into an embedded broker."""

from eosfw_memory.faults.fault import Fault
from eosfw_memory.faults.fault_injector import FaultInjector
from eosfw_memory.faults.matching import Firing
from eosfw_memory.faults.rules import Delay, Drop, Fail, Jump, Kill, Lose, PowerCut, Refuse, Repeat, Restart, Rule

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
    "PowerCut",
    "Refuse",
    "Repeat",
    "Restart",
    "Rule",
]
