"""Write docs/reference/connectors.md from what authors subclass and call; a test finds the page out of date."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import eosfw
from eosfw import config, connectors, errors, plugin_metrics, records

PAGE = Path(__file__).with_name("connectors.md")
HEAD = """# Connectors

What the author of a source connector subclasses, returns and calls. [Write a connector](../how-to/write-a-connector.md)
shows one that runs, [the glossary](glossary.md) has Kafka's words. All names are those of Kafka Connect (KIP-618) where
it has them. This page is made from the code by `python docs/reference/connectors_page.py`.

| who | is asked | when |
|---|---|---|
| connector | `problems`, `exactly_once_support`, `transaction_boundaries` | before anything starts |
| connector | `check` | by `eosfw run --check` and `eosfw doctor`, never by a run |
| connector | `task_configs` | whenever its configuration is committed: each time starts a new generation of tasks |
| connector | `start`, then `watch` | in one worker, if it defines one of them; `stop` ends that |
| task | `start` | once, when earlier tasks are fenced and the committed offsets are read |
| task | `poll` | again and again, while `stop` was not asked for |
| task | `at_end` | after a poll that gave nothing |
| task | `progress` | a few times a second, between polls |
| task | `commit_record`, then `commit` | after each commit |
| task | `stop` | once, also after a failure |

All calls of one task come from one thread. A task's exception fails it and aborts its open transaction: nothing of that
becomes visible, and the next start goes on behind the last commit.
"""
SECTIONS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("The connector", (connectors.SourceConnector, connectors.ExactlyOnceSupport)),
    ("What a connector is given that watches its source", (connectors.SourceConnectorContext, connectors.OffsetReader)),
    ("Its tasks", (connectors.SourceTask, connectors.CommitsRecords, connectors.SourceProgress)),
    (
        "What a task is given",
        (
            connectors.SourceTaskContext,
            connectors.TransactionContext,
            connectors.ConnectorTransactionBoundaries,
            plugin_metrics.PluginMetrics,
            plugin_metrics.Counter,
            plugin_metrics.Gauge,
        ),
    ),
    ("What a task returns", (records.SourceRecord, records.SourceBatch, records.RecordMetadata)),
    ("Properties", (config.ConfigDef, config.Config, config.Key)),
    ("Errors to raise", (errors.RetriableError, errors.DamagedDataError, errors.Problem)),
)
ALIASES = ("SourcePartition", "SourceOffset", "Primitive", "Headers")
EMPTY = "field(default_factory=dict)"
KINDS = (
    config.String, config.Password, config.Boolean, config.Int, config.Short, config.Long, config.Double, config.Choice,
    config.Class, config.List,
)  # fmt: skip


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for title, kinds in SECTIONS:
        lines += [f"## {title}\n", *(line for kind in kinds for line in _class(kind))]
        if config.Key in kinds:
            lines += list(_keys())
        if records.SourceRecord in kinds:
            lines += list(_aliases())
    return "\n".join(lines)


def _class(kind: type) -> Iterator[str]:
    yield f"### {kind.__name__}\n"
    yield f"`from {_home(kind)} import {kind.__name__}`\n"
    yield f"{_text(inspect.getdoc(kind))}\n"
    rows = [*_values(kind), *_fields(kind), *_methods(kind)]
    if rows:
        yield from ("| member | meaning |", "|---|---|", *rows, "")


def _keys() -> Iterator[str]:
    yield "### Kinds of properties\n"
    yield "From `eosfw`; each is called with a name, a default (without one it must be given) and a `doc`.\n"
    yield from ("| kind | takes |", "|---|---|")
    for kind in KINDS:
        more = [field for field in dataclasses.fields(kind) if field.name not in config.Key.__dataclass_fields__]
        call = ", ".join(["name", "default", "doc", *(f"{field.name}={field.default!r}" for field in more)])
        yield f"| `{kind.__name__}({call})` | {_text(inspect.getdoc(kind))} |"
    yield ""


def _home(kind: type) -> str:
    return "eosfw" if kind.__name__ in eosfw.__all__ else kind.__module__.removesuffix(".definition.config_def")


def _values(kind: type) -> Iterator[str]:
    if issubclass(kind, Enum):
        yield from (f"| `{one.name}` | `{one.value!r}` |" for one in kind)


def _fields(kind: type) -> Iterator[str]:
    """What a class annotates, with the text below it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0].body  # type: ignore[attr-defined]
    for node, behind in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            meant = behind.value.value if _is_text(behind) else ""
            default = "" if node.value is None else f" = {ast.unparse(node.value)}".replace(EMPTY, "{}")
            yield f"| `{node.target.id}: {_cell(ast.unparse(node.annotation) + default)}` | {_text(meant)} |"


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _methods(kind: type) -> Iterator[str]:
    own = set() if issubclass(kind, Enum | BaseException) else set(vars(kind))
    for name in (name for name in vars(kind) if name in own and name[0] != "_"):
        member = vars(kind)[name]
        if inspect.isfunction(member):
            yield f"| `{name}{_signature(member)}` | {_text(inspect.getdoc(member))} |"
        elif isinstance(member, property):
            yield f"| `{name}` | {_text(inspect.getdoc(member))} |"


def _signature(function: Any) -> str:
    whole = inspect.signature(function)
    members = [
        one.replace(annotation=_Plain(one.annotation)) for name, one in whole.parameters.items() if name != "self"
    ]
    returned = connectors.PollResult if whole.return_annotation == "PollResult" else whole.return_annotation
    return _cell(str(whole.replace(parameters=members, return_annotation=_Plain(returned))))


class _Plain:
    """An annotation that shows itself as it is written."""

    def __init__(self, annotation: object) -> None:
        self._text = _short(str(annotation))

    def __repr__(self) -> str:
        return self._text


def _short(code: str) -> str:
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", code)


def _aliases() -> Iterator[str]:
    for name in ALIASES:
        yield f"- `{name}` is `{_cell(_alias(name))}`."
    yield ""


def _alias(name: str) -> str:
    """What the module says behind the name."""
    written = re.search(rf"^{name}: TypeAlias = (.*)$", inspect.getsource(records), re.MULTILINE)
    assert written is not None
    return written[1]


def _cell(code: str) -> str:
    return " ".join(code.split()).replace(" | ", " or ")


def _text(documented: str | None) -> str:
    """A docstring as one paragraph."""
    return " ".join((documented or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
