"""`eosfw run`: run a pipeline file, from its sources to the output of its steps."""

from eosfw.cli.run.command import command
from eosfw.cli.run.verify_option import VerifyCommand

__all__ = ["VerifyCommand", "command"]
