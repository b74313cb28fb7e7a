"""Clients of this process that are kept from batch to batch (as Spark's `InternalKafkaProducerPool` keeps producers).

Spark runs batch after batch in the same Python processes, as long as its workers are reused and a batch comes within a
minute. So a batch does not pay for a new producer, a fencing and a read of the token.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from eosfw_spark.clients import open_backend
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.tokens.token_log import TokenLog
from eosfw_spark.sink.tokens.token_producer import TokenCluster, TokenIdentity

KEPT: Final = 16
"""Clients of one kind that stay open."""


class _Closeable(Protocol):
    def close(self) -> None: ...


_T = TypeVar("_T", bound=_Closeable)


class _Kept(NamedTuple, Generic[_T]):
    options: SinkOptions
    client: _T
    resources: ExitStack


class KeptClients(Generic[_T]):
    """One client for each identity; the one that was not used for the longest time is closed first."""

    def __init__(self, make: Callable[[TokenIdentity, TokenCluster, SinkOptions], _T]) -> None:
        self._make = make
        self._kept: dict[TokenIdentity, _Kept[_T]] = {}

    def get(self, identity: TokenIdentity, options: SinkOptions) -> tuple[_T, bool]:
        """The client of an identity, and whether it is new: the first, or one with other options."""
        if identity in self._kept and self._kept[identity].options != options:
            self.release(identity)
        kept = self._kept.pop(identity, None)
        self._kept[identity] = kept or self._open(identity, options)
        for oldest in list(self._kept)[:-KEPT]:
            self.release(oldest)
        return self._kept[identity].client, kept is None

    def release(self, identity: TokenIdentity) -> None:
        """Close a client that this process keeps."""
        kept = self._kept.pop(identity, None)
        if kept is not None:
            kept.resources.close()

    def _open(self, identity: TokenIdentity, options: SinkOptions) -> _Kept[_T]:
        with ExitStack() as opening:
            backend = opening.enter_context(open_backend(options.backend, options.properties))
            tokens = TokenLog(backend, stall_timeout=options.api_timeout)
            cluster = TokenCluster(backend, tokens, options.transaction_timeout, options.api_timeout)
            client = self._make(identity, cluster, options)
            opening.callback(client.close)
            return _Kept(options, client, opening.pop_all())
