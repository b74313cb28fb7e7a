"""Whether the records of a run are verified: counted against a replay of their sources."""

from __future__ import annotations

from enum import Enum
from typing import Final

from eosfw.config.definition import nearest

VERIFY_HINT: Final = "--verify asks for it"


class Verification(Enum):
    """How much depends on verification, which reads sources and topics once more."""

    REQUIRED = "required"
    """Verify; a run that cannot be verified has failed."""
    TRY = "try"
    """Verify as far as that is possible; the summary names what cannot be verified."""
    OFF = "off"
    """Do not verify."""


def effective_verification(*, option: Verification | None, file: Verification | None, external: bool) -> Verification:
    """The option of the command line, else of the file; else embedded clusters are verified, since they are small."""
    return option or file or (Verification.OFF if external else Verification.TRY)


def parse_verification(text: str) -> Verification:
    """The verification of this name; ValueError with the known names."""
    names = [each.value for each in Verification]
    if text not in names:
        near = nearest(text, names)
        raise ValueError(f"unknown {text!r}; {f'did you mean {near!r}?' if near else 'write ' + ', '.join(names)}")
    return Verification(text)
