"""Read the list of problems that a connector returned."""

from __future__ import annotations

from collections.abc import Iterable

from eosfw.errors import Problem


def read_problems(returned: object, method: str) -> list[Problem]:
    """What `problems` or `check` of a connector returned; TypeError if it is no list."""
    __tracebackhide__ = True  # the mistake is the connector's, in a method that has returned
    if isinstance(returned, str) or not isinstance(returned, Iterable):
        raise TypeError(
            f"`{method}` returned a {type(returned).__name__}; it must return a list of eosfw.errors.Problem, "
            f"empty where there is none"
        )
    return list(returned)
