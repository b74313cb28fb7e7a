"""`eosfw run`: run a pipeline file, from its sources to the output of its steps."""

from eosfw.cli.run.arguments import RunCommand
from eosfw.cli.run.command import command

__all__ = ["RunCommand", "command"]
