"""Options whose value may be left out, which typer does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


def with_value(arguments: Iterable[str], option: str, alone: str, is_value: Callable[[str], bool]) -> Iterator[str]:
    """The command line with a value for each `option`: the argument behind it if that is one, else `alone`."""
    waiting = False
    for argument in arguments:
        taken = waiting and is_value(argument)
        if waiting:
            yield f"{option}={argument if taken else alone}"
        waiting = argument == option
        if not waiting and not taken:
            yield argument
    if waiting:
        yield f"{option}={alone}"
