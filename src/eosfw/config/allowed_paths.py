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


def is_allowed(path: str, roots: Sequence[str]) -> bool:
    """Whether a path is absolute, and lies in one of the roots once `..` and symbolic links are followed."""
    if "\0" in path or not os.path.isabs(path):
        return False
    real = Path(os.path.realpath(path))
    return any(real.is_relative_to(os.path.realpath(root)) for root in roots)
