"""The option `--verify`, whose value may be left out, and `--no-verify`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import typer.core

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


class VerifyCommand(typer.core.TyperCommand):
    """A command whose `--verify` may have no value; `--no-verify` means `--verify=off`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        return super().parse_args(ctx, list(with_values(args)))


def with_values(arguments: Iterable[str]) -> Iterable[str]:
    """The command line with a value for each `--verify`, as typer needs one."""
    waiting = False
    for argument in arguments:
        if waiting:
            yield f"{_VERIFY}={argument if argument in _NAMES else _ALONE}"
        if argument == _NO_VERIFY:
            yield f"{_VERIFY}={_OFF}"
        elif argument != _VERIFY and not (waiting and argument in _NAMES):
            yield argument
        waiting = argument == _VERIFY
    if waiting:
        yield f"{_VERIFY}={_ALONE}"


def parse_verify_option(text: str | None) -> Verification | None:
    """The verification that the command line names, if any; BadParameter for an unknown one."""
    from eosfw.pipeline.definition.model import parse_verification

    try:
        return None if text is None else parse_verification(text)
    except ValueError as why:
        raise typer.BadParameter(f"{_VERIFY}: {why}") from None
