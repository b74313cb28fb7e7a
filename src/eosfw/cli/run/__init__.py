"""`eosfw run`: run a pipeline file, from its sources to the output of its steps."""

from eosfw.cli.run.arguments import RunCommand
from eosfw.cli.run.command import command

COMMAND_CLASS = RunCommand

__all__ = ["COMMAND_CLASS", "command"]
