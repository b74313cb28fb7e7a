"""Write docs/reference/hooks.md from the hook specifications; a test finds the page out of date."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eosfw import connectors, hookspecs, protocols

PAGE = Path(__file__).with_name("hooks.md")
HEAD = """# Hooks

A plugin is a module. An entry point of the group `eosfw` names it. The module defines functions with the names below
and decorates them with `eosfw.hookimpl`. Each function returns classes, and each class names itself: `name = "..."`.
In place of a class that imports much, such as the client library of a database, it returns a `PluginDesc`; then the
class is imported when somebody chooses it by that name:

```python
from eosfw.hookspecs import PluginDesc, hookimpl


@hookimpl
def eosfw_connectors():
    return [PluginDesc("acme_source.connector:AcmeConnector", name="acme")]
```

- The parts that come with eosfw enter by the same door.
- Two classes of one role with one name are refused. The message names both distributions.
- A plugin that cannot be loaded does not stop the others. `eosfw plugins` shows it, and the reason.
- A module that says `eosfw_api = 1` is refused, by name, by an eosfw whose hooks have become others.
- Some extension points need no hook: [commands](#commands), and
  [what a class may do beside its contract](#beside-the-contract).

[Write a connector](../how-to/write-a-connector.md) and [write a backend](../how-to/write-a-backend.md) show plugins
that run. This page is made from the code by `python docs/reference/hooks_page.py`.
"""


COMMANDS = f"""## Commands

An entry point of the group `{hookspecs.COMMANDS_GROUP}` becomes a subcommand of `eosfw` under its own name: the line
`demo = "eosfw_demo.command:command"` is `eosfw demo`. It names a function, whose parameters are read as
[Typer](https://typer.tiangolo.com) reads them, or a `typer.Typer` with commands of its own. It is loaded when it is
asked for; one that cannot be loaded says so, and leaves the others working.
"""
BESIDE = """## Beside the contract

What a class may do beside the contract of its role. No hook offers it: whoever asks looks at the class or its instance.
What a connector and its tasks may override is on the page of [connectors](connectors.md).
"""


def page() -> str:
    """The whole page."""
    hooks = [value for name, value in vars(hookspecs).items() if name.startswith("eosfw_")]
    sections = [line for hook in hooks for line in _section(hook)]
    return "\n".join(
        [HEAD, *sections, COMMANDS, BESIDE, *(line for one in hookspecs.OPTIONAL for line in _optional(one))]
    )


def _section(hook: Any) -> Iterator[str]:
    name = re.search(r"type\[(\w+)\]", str(hook.__annotations__["return"]))
    assert name is not None
    module = protocols if hasattr(protocols, name[1]) else connectors
    contract = getattr(module, name[1])
    yield f"## {hook.__name__}\n"
    yield f"`{hook.__name__}{_signature(hook)}`\n"
    yield f"{_prose(hook)}\n"
    yield f"Contract: `{module.__name__}.{contract.__name__}`. {_prose(contract)}\n"
    yield "| member | meaning |"
    yield "|---|---|"
    yield from _members(contract)
    yield ""


def _optional(one: hookspecs.OptionalProtocol) -> Iterator[str]:
    module, _, name = one.protocol.partition(":")
    contract = getattr(importlib.import_module(module), name)
    yield f"### {name}\n"
    yield f"`{module}.{name}`, for {one.implemented_by}. {_prose(contract)} Asked by {one.called_by}.\n"
    yield "| member | meaning |"
    yield "|---|---|"
    yield from _members(contract)
    yield ""


def _members(contract: type) -> Iterator[str]:
    for name, kind in contract.__annotations__.items():
        yield f"| `{name}` | `{str(kind).replace(' | ', ' or ')}` |"
    for name, member in vars(contract).items():
        if isinstance(member, property):
            kind = str(member.fget.__annotations__["return"]).replace(" | ", " or ")
            yield f"| `{name}: {kind}` | {_prose(member)} |"
        function = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(function):
            signature = _signature(function)
            kind = "class method: " if isinstance(member, classmethod) else ""
            yield f"| `{name}{signature}` | {kind}{_prose(function).replace('|', chr(92) + '|')} |"


def _signature(function: Any) -> str:
    whole = inspect.signature(function)
    members = [one for name, one in whole.parameters.items() if name not in ("self", "cls")]
    return str(whole.replace(parameters=members)).replace("'", "").replace(" | ", " or ")


def _prose(documented: Any) -> str:
    """A docstring as one paragraph."""
    return " ".join((inspect.getdoc(documented) or "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
