"""The checkpoint folder of a streaming step: it belongs to one step as it is written, and to one run at a time."""

from __future__ import annotations

import fcntl
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from eosfw.errors import StepFailedError
from eosfw.protocols import Step

logger = logging.getLogger(__name__)
_FILE: Final = "step.json"
_LOCK: Final = ".step.lock"


class Checkpoint:
    """A folder that Spark keeps a query's progress in; locked until `close`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Spark ignores hidden files and files that it does not know.
            self._lock = (folder / _LOCK).open("a")
        except OSError as why:
            raise StepFailedError(
                f"checkpoint {folder} cannot be written: {why.strerror}; name another folder"
            ) from why

    @property
    def new(self) -> bool:
        """Whether no query has begun here."""
        return not (self.folder / "metadata").exists()

    @property
    def has_rows(self) -> bool:
        """Whether a batch was written, so that the next one is not the first in its output."""
        return any(each.name.isdecimal() for each in self.folder.glob("commits/*"))

    def claim(self, step: Step) -> None:
        """Take the folder for this step; StepFailedError if another run has it, or if another step left it."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StepFailedError(f"checkpoint {self.folder} is in use by another run; end that one first") from None
        except OSError as why:
            logger.warning("%s has no locks, so nothing keeps another run from it: %s", self.folder, why.strerror)
        file, own = self.folder / _FILE, _described(step)
        earlier = _noted(file)
        if earlier is not None and not self.new and earlier != own:
            changed = ", ".join(
                f"{name} {_text(earlier.get(name))} is now {_text(own[name])}"
                for name in own
                if earlier.get(name) != own[name]
            )
            raise StepFailedError(
                f"checkpoint {self.folder} belongs to another query: {changed}; name another checkpoint to start"
                " anew, or change the step back"
            )
        if earlier != own:
            file.write_text(json.dumps(own))

    def close(self) -> None:
        """Let another run have it."""
        self._lock.close()


def _noted(file: Path) -> Any:
    try:
        return json.loads(file.read_text()) if file.exists() else None
    except ValueError:
        raise StepFailedError(
            f"{file} is damaged, which says to which step the checkpoint belongs: delete that file if it is this one's"
        ) from None


def _described(step: Step) -> Mapping[str, Any]:
    """What must stay the same as long as a query goes on; its computation may change as far as Spark allows it."""
    return {
        "step": step.name,
        "topics": sorted(each.topic for each in step.inputs),
        "output": step.output,
        "format": step.output_format,
    }


def _text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else repr(value)
