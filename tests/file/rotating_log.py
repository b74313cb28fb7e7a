"""A log file that its writer rotates."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path


class Log:
    """A log file whose lines are numbered, with the ways in which it is rotated."""

    def __init__(self, folder):
        self.path, self.lines, self._now = Path(folder) / "app.log", [], 0
        self.create()

    def create(self):
        self.path.touch()
        self.tick(self.path)

    def tick(self, path):
        """Let time pass between two changes, more than the clock of a file system may take for one moment."""
        self._now += 10_000_000
        os.utime(path, ns=(self._now, self._now))

    def write(self, count, end=b"\n"):
        with self.path.open("ab") as file:
            for _ in range(count):
                # Each is longer than the one before: within a tick of the clock only its size tells another file.
                self.lines.append(b"line %07d %s" % (len(self.lines), b"." * len(self.lines)))
                file.write(self.lines[-1] + end)
        self.tick(self.path)

    def shift(self):
        """Give each rotated file the next number."""
        for number in range(9, 0, -1):
            for suffix in ("", ".gz"):
                if (old := self.numbered(number, suffix)).exists():
                    old.rename(self.numbered(number + 1, suffix))

    def numbered(self, number, suffix=""):
        return self.path.with_name(f"app.log.{number}{suffix}")

    def rename(self, *, create=True):
        self.shift()
        self.path.rename(self.numbered(1))
        if create:
            self.create()

    def copy_and_truncate(self):
        self.shift()
        shutil.copy(self.path, self.numbered(1))
        self.tick(self.numbered(1))
        os.truncate(self.path, 0)
        self.tick(self.path)

    def pack(self):
        """Pack the youngest rotated file, as gzip does."""
        for number in range(1, 10):
            if (plain := self.numbered(number)).exists():
                status = plain.stat()
                packed = self.numbered(number, ".gz")
                packed.write_bytes(gzip.compress(plain.read_bytes()))
                os.utime(packed, ns=(status.st_atime_ns, status.st_mtime_ns))
                plain.unlink()
                return
