"""The sentence that an executor says which cannot import this distribution."""

from __future__ import annotations

from typing import Any

__all__ = ["reduce_with_import"]


def reduce_with_import(instance: Any) -> tuple[Any, ...]:
    """A `__reduce__` for what Spark sends to executors: it is imported by a function that comes along."""

    # Functions in functions are pickled with their code, not by name: this one runs where eosfw-spark is missing.
    def imported(module: str, name: str) -> Any:
        import socket
        from importlib import import_module

        try:
            found = getattr(import_module(module), name)
        except ModuleNotFoundError as missing:
            raise ModuleNotFoundError(
                f"executor {socket.gethostname()} has no module {missing.name}: install eosfw-spark, and the client of "
                f"the backend, for the Python of every executor (PYSPARK_PYTHON, or an archive by spark.archives)"
            ) from None
        return found.__new__(found)

    kind = type(instance)
    return imported, (kind.__module__, kind.__qualname__), instance.__dict__
