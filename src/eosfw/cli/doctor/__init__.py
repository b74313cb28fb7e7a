"""`eosfw doctor`: what works here, what does not, and the remedy."""

from eosfw.cli.doctor.command import command

__all__ = ["command"]
