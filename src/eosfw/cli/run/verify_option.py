"""The option `--verify`, whose value may be left out, and `--no-verify`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import typer

from eosfw.cli.run.optional_value import with_value

if TYPE_CHECKING:
    from eosfw.pipeline import Verification

_VERIFY: Final = "--verify"
_NO_VERIFY: Final = "--no-verify"
OPTIONS: Final = (_VERIFY, _NO_VERIFY)
METAVAR: Final = "[required|try|off]"
HELP: Final = (
    "Replay the sources to count duplicates and missing records (needs an identity); it takes about as long as the "
    "run. required: what cannot be verified has failed, exit code 1; --verify alone says this. try: as far as possible;"
    " so where the run starts its broker itself. off, or --no-verify: costs nothing; so on a cluster that is named."
)
_ALONE: Final = "required"
_OFF: Final = "off"
_NAMES: Final = (_ALONE, "try", _OFF)


def with_values(arguments: Iterable[str]) -> Iterator[str]:
    """The command line with a value for each `--verify`, as typer needs one."""
    spelled = (f"{_VERIFY}={_OFF}" if argument == _NO_VERIFY else argument for argument in arguments)
    return with_value(spelled, _VERIFY, _ALONE, lambda text: text in _NAMES)


def parse_verify_option(text: str | None) -> Verification | None:
    """The verification that the command line names, if any; BadParameter for an unknown one."""
    from eosfw.pipeline.definition.model import parse_verification

    try:
        return None if text is None else parse_verification(text)
    except ValueError as why:
        raise typer.BadParameter(f"{_VERIFY}: {why}") from None
