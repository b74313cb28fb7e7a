"""What a backend can do: callers and contract tests choose by capability, never by the name of a product."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["Capabilities"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend offers; a flag is False by default, so that an older backend does not claim a new one."""

    transactions: bool = False
    """Its producers write in transactions and are fenced by newer holders of their transactional ids (KIP-98)."""
    read_committed: bool = False
    """Its readers can leave out records of aborted and open transactions."""
    batch_headers: bool = False
    """`send_batch` can carry headers at the speed of a batch."""
    fence_by_init_producer_id: bool = False
    """Fences with an InitProducerId request alone, without a producer per id; so it learns producer id and epoch."""
    describe_transactions: bool = False
    """Lists and describes transactions and producers, and names what holds back a last stable offset (KIP-664)."""
    abort_transactions: bool = False
    """Aborts a hanging transaction in one partition (KIP-664)."""
    delete_topics: bool = False
    """Deletes topics and consumer groups: its admin client has `delete_topics` and `delete_groups`."""
    shared_transactions: bool = False
    """Several processes can write in one transaction: it is a `SharedTransactions`, too."""

    def lacking(self, *needed: str) -> tuple[str, ...]:
        """The needed capabilities this backend does not have, by name."""
        known = {f.name for f in fields(self)}
        return tuple(name for name in needed if name not in known or not getattr(self, name))
