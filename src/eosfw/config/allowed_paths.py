"""The files that properties from outside may name (Kafka's `AllowedPaths`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from eosfw.config.definition import List


class AllowedPaths(List):
    """Absolute paths, separated by commas; what they are, and all that lies below them, is allowed."""

    def parse(self, text: str) -> tuple[str, ...]:
        paths = List.parse(self, text)
        for path in paths:
            if not os.path.isabs(path):
                raise ValueError("every path must be absolute")
        return paths


def allowed_path(path: str, roots: Sequence[str]) -> Path | None:
    """The real path, once `..` and symbolic links are followed, if it lies in one of the roots; else None."""
    if "\0" in path or not os.path.isabs(path):
        return None
    real = Path(os.path.realpath(path))
    return real if any(real.is_relative_to(os.path.realpath(root)) for root in roots) else None
