"""Say what a backend can do, so that callers and contract tests choose by capability, never by product name."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend offers; a new flag starts as False, so an older backend stays honest."""

    transactions: bool = False
    """Produces in transactions and is fenced by a newer holder of its transactional id (KIP-98)."""
    read_committed: bool = False
    """Reads without aborted and open transactions."""
    batch_headers: bool = False
    """`send_batch` can carry headers at the speed of a batch."""
    fence_by_init_producer_id: bool = False
    """Fences with a bare InitProducerId, without a throw-away producer per victim; so it learns id and epoch."""
    describe_transactions: bool = False
    """Lists and describes transactions and producers; names who holds a partition's last stable offset (KIP-664)."""
    abort_transactions: bool = False
    """Aborts in one partition what no coordinator ends any more (KIP-664)."""
    delete_topics: bool = False
    """Deletes topics and consumer groups: its admin client has `delete_topics` and `delete_groups`."""

    def lacking(self, *needed: str) -> tuple[str, ...]:
        """The needed capabilities this backend does not have, by name."""
        known = {f.name for f in fields(self)}
        return tuple(name for name in needed if name not in known or not getattr(self, name))
