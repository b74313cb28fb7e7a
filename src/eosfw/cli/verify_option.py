"""Read `--verify`, which may stand alone or name how much depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import typer.core

if TYPE_CHECKING:
    from eosfw.pipeline import Verification

OPTION: Final = "--verify"
METAVAR: Final = "[required|try|off]"
HELP: Final = (
    "Replay the sources to count duplicates and missing records (needs an identity); it takes about as long as the "
    "run. required: what cannot be verified has failed, exit code 1; --verify alone says this. try: as far as possible;"
    " so where the run starts its broker itself. off: costs nothing; so on a cluster that is named."
)
_ALONE: Final = "required"
_NAMES: Final = (_ALONE, "try", "off")


class VerifyCommand(typer.core.TyperCommand):
    """A command whose `--verify` needs no value."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        return super().parse_args(ctx, list(completed(args)))


def completed(arguments: Iterable[str]) -> Iterable[str]:
    """The same command line with a value for each `--verify`: its own, or the one that stands for none."""
    waiting = False
    for argument in arguments:
        if waiting:
            yield f"{OPTION}={argument if argument in _NAMES else _ALONE}"
        if not (waiting and argument in _NAMES) and argument != OPTION:
            yield argument
        waiting = argument == OPTION
    if waiting:
        yield f"{OPTION}={_ALONE}"


def chosen(text: str | None, *, no_verify: bool) -> Verification | None:
    """What the command line says of verification, if anything; BadParameter for what is none or contradicts itself."""
    from eosfw.pipeline.verification import Verification, named

    try:
        verification = None if text is None else named(text)
    except ValueError as why:
        raise typer.BadParameter(f"{OPTION}: {why}") from None
    if no_verify and verification not in (None, Verification.OFF):
        raise typer.BadParameter(f"{OPTION}={text} beside --no-verify: keep one")
    return Verification.OFF if no_verify else verification
