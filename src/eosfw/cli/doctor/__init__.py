"""Offer `eosfw doctor`: what of this set-up works, what does not, what to do about it."""

from eosfw.cli.doctor.command import command

__all__ = ["command"]
