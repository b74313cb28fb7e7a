"""`eosfw worker`: a worker of a group of many processes."""

from eosfw.cli.worker.command import command

__all__ = ["command"]
