"""`eosfw connectors`: list, create and control the connectors of a worker group, by its REST interface."""

from eosfw.cli.connectors.command import group

__all__ = ["group"]
