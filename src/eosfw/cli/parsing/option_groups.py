"""Options that belong together, as one argument of a command."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from inspect import Parameter
from typing import Any, get_type_hints


def expand_groups(command: Callable[..., Any]) -> Callable[..., Any]:
    """A function for typer that takes an option for each field where `command` takes a dataclass.

    typer reads a command's options from its signature, one parameter each.
    """
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    plain = [one.replace(annotation=hints[one.name]) for one in signature.parameters.values()]
    groups: dict[str, Any] = {one.name: one.annotation for one in plain if is_dataclass(one.annotation)}
    options = [option for group in groups.values() for option in _options(group)]

    def call(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{one.name: given.pop(one.name) for one in fields(group)})
        return command(**given)

    parameters = [*(one for one in plain if one.name not in groups), *options]
    call.__doc__ = command.__doc__
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _options(group: type[Any]) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for one in fields(group):
        yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=_default(one), annotation=hints[one.name])


def _default(field: Field[Any]) -> Any:
    return Parameter.empty if field.default is MISSING else field.default
