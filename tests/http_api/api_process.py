"""A process that serves a file of records: `python -m tests.http_api.api_process FILE PORT`."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from tests.http_api.served_api import Asked, Reply, ServedApi, served


class FileApi(ServedApi):
    """Its records are the whole lines of a file, which grows."""

    def __init__(self, file: Path) -> None:
        super().__init__([], size=20)
        self._file, self._read, self._lock = file, 0, threading.Lock()

    def answer(self, asked: Asked) -> Reply:
        with self._lock:
            with self._file.open("rb") as lines:
                lines.seek(self._read)
                whole = lines.read().rpartition(b"\n")[0]
            if whole:
                self.records += map(json.loads, whole.splitlines())
                self._read += len(whole) + 1
            self.asked.clear()
            return super().answer(asked)


if __name__ == "__main__":
    with served(FileApi(Path(sys.argv[1])), int(sys.argv[2])):
        print("serving", flush=True)  # noqa: T201 (the test waits for it)
        threading.Event().wait()
