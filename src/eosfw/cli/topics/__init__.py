"""`eosfw topics`: create, list, describe and delete the topics of a cluster, through any backend."""

from eosfw.cli.topics.command import group

__all__ = ["group"]
