"""The default fencer: the backend's admin client, as in Kafka Connect (KIP-618)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar, Self

from eosfw.concurrency import Runtime
from eosfw.errors import EosfwError
from eosfw.fence_producers_result import FenceProducersOptions
from eosfw.protocols import Admin, Backend

__all__ = ["AdminFencer"]


class AdminFencer:
    """The `Fencer` of every backend that has none of its own."""

    name: ClassVar[str] = "admin"

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    @classmethod
    def connect(cls, backend: Backend, properties: Mapping[str, str], runtime: Runtime) -> Self:
        """Make an admin client with these properties and fence through it."""
        return cls(backend.admin(properties))

    def fence(self, transactional_ids: Collection[str], timeout: float) -> Mapping[str, EosfwError | None]:
        """Wait for the outcome of every id."""
        return self._admin.fence_producers(transactional_ids, FenceProducersOptions(timeout)).outcomes()

    def close(self) -> None:
        """Close the admin client; ids that are not fenced yet fail."""
        self._admin.close()
