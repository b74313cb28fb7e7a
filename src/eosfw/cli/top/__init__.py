"""`eosfw top`: what a worker group does, live in a terminal."""

from eosfw.cli.top.command import command

__all__ = ["command"]
