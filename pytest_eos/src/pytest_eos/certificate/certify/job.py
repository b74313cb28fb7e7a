"""What `eosfw certify` asks its process of pytest to test."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

VARIABLE = "PYTEST_EOS_CERTIFY_JOB"
"""The environment variable with the path of the job's file."""


@dataclass(frozen=True, slots=True)
class CertifyJob:
    """A connector with properties with which it has records."""

    connector: str
    """`module:Class`."""
    properties: Mapping[str, str]
    records: int
    """How many records of an endless source are enough."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Parts that are not tried, each with the reason."""
    seeds: int = 1
    """How many simulated runs there are."""
    play_again: str = ""
    """The command that plays a seed again, up to the seed."""

    def save(self, path: Path) -> None:
        """Write it down for nobody else: properties may hold secrets."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)

    @classmethod
    def load(cls) -> Self:
        """The job of this process."""
        return cls(**json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8")))
