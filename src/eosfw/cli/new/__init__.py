"""`eosfw new`: projects to start from, written offline."""

from eosfw.cli.new.command import group

__all__ = ["group"]
