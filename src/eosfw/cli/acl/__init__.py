"""`eosfw acl`: the rights that a worker group and a connector need, and whether they are there."""

from eosfw.cli.acl.command import group

__all__ = ["group"]
