"""An operating system whose disk is full or broken."""

from __future__ import annotations

import os

from eosfw_memory.storage.files.disk import OperatingSystem


class FailingSystem(OperatingSystem):
    """Fails from a given call on, or only at it, as a disk that is full or broken does."""

    def __init__(self, code: int, *, at: int = 1 << 30, at_sync: int = 1 << 30, takes: int = 0) -> None:
        self.code, self.at, self.at_sync, self.takes = code, at, at_sync, takes
        self.writes = self.syncs = 0
        self.once = False
        self.removes = True
        self.failing_renames = 0

    def write(self, descriptor, pieces, at):
        self.writes += 1
        if self.writes == self.at and self.takes:
            return super().write(descriptor, [b"".join(pieces)[: self.takes]], at)
        if self.writes == self.at or (self.writes > self.at and not self.once):
            raise OSError(self.code, os.strerror(self.code))
        return super().write(descriptor, pieces, at)

    def sync(self, descriptor):
        self.syncs += 1
        if self.syncs == self.at_sync:
            raise OSError(self.code, os.strerror(self.code))
        super().sync(descriptor)

    def remove(self, path):
        if not self.removes:
            raise OSError(self.code, os.strerror(self.code))
        super().remove(path)

    def rename(self, old, new):
        if self.failing_renames:
            self.failing_renames -= 1
            raise OSError(self.code, os.strerror(self.code))
        super().rename(old, new)
