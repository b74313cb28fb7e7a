"""`eosfw txn`: look at the transactions of a cluster, fence their producers, end what hangs (KIP-664)."""

from eosfw.cli.txn.command import group

__all__ = ["group"]
