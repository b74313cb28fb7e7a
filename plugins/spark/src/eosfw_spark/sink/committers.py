"""The committers of this process, kept from batch to batch.

Spark runs the commits of a query's batches one after the other in one Python process, as long as its workers are reused
and a batch comes within a minute. So a batch does not pay for a new producer, a fencing and a read of the token.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, NamedTuple

from eosfw.concurrency import ThreadRuntime
from eosfw_spark.clients import open_backend
from eosfw_spark.sink.committer import AtomicCommitter
from eosfw_spark.sink.options import SinkOptions
from eosfw_spark.sink.token_log import TokenLog
from eosfw_spark.sink.token_producer import TokenCluster, TokenIdentity

KEPT: Final = 16
"""Queries whose committers stay open."""


class _Kept(NamedTuple):
    options: SinkOptions
    committer: AtomicCommitter
    resources: ExitStack


_kept: dict[TokenIdentity, _Kept] = {}


def committer_of(identity: TokenIdentity, options: SinkOptions) -> tuple[AtomicCommitter, bool]:
    """The committer of a query in this process, and whether it is new: the first, or one with other options."""
    if identity in _kept and _kept[identity].options != options:
        release(identity)
    kept = _kept.pop(identity, None)
    _kept[identity] = kept or _open(identity, options)
    for oldest in list(_kept)[:-KEPT]:
        release(oldest)
    return _kept[identity].committer, kept is None


def release(identity: TokenIdentity) -> None:
    """Close a committer that this process keeps."""
    kept = _kept.pop(identity, None)
    if kept is not None:
        kept.resources.close()


def _open(identity: TokenIdentity, options: SinkOptions) -> _Kept:
    runtime = ThreadRuntime()
    with ExitStack() as opening:
        backend = opening.enter_context(open_backend(options.backend, options.properties))
        tokens = TokenLog(backend, stall_timeout=options.api_timeout)
        cluster = TokenCluster(backend, tokens, options.transaction_timeout, options.api_timeout)
        committer = AtomicCommitter(identity, cluster, runtime)
        opening.callback(committer.close)
        return _Kept(options, committer, opening.pop_all())
