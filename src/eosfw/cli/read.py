"""`eosfw read`: print the records of a connector's source, without a cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.parsing.limits import seconds

if TYPE_CHECKING:
    from eosfw.records import SourceRecord


def command(
    connector: Annotated[
        str, typer.Argument(help="What `connector.class` says; with --pipeline, the NAME of its [connectors.NAME].")
    ],
    *,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", "-p", metavar="KEY=VALUE", help="A property of the connector; may be repeated."),
    ] = None,
    pipeline: Annotated[
        Path | None,
        typer.Option(help="Take the connector's properties from this pipeline file; -p replaces single ones."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many records, not with the source.")] = None,
    idle: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds without records after which a source that knows no end is left.", callback=seconds
        ),
    ] = 5.0,
) -> None:
    """Print the records of a connector's source, from its beginning, one JSON object a line; needs no cluster.

    Nothing is committed anywhere. A value that is no UTF-8 is printed as {"base64": "..."}.
    """
    from eosfw.cli.output.stdout import reserved_stdout
    from eosfw.concurrency import ThreadRuntime
    from eosfw.pipeline.verdicts.source_reader import source_records
    from eosfw.registry import load_plugins

    given = _given(properties or ())
    with reserved_stdout() as write:  # a connector may print, too
        name, full, worker = _connector(connector, pipeline, given)
        records = source_records(
            load_plugins(), name, full, ThreadRuntime(), print_message, idle=idle, worker_properties=worker
        )
        count = 0
        try:
            for record in islice(records, limit):
                if not write(json.dumps(_as_json(record), ensure_ascii=False)):
                    break
                count += 1
        finally:
            records.close()
        print_message(f"{count:,} record{'' if count == 1 else 's'}")


def _given(properties: Sequence[str]) -> dict[str, str]:
    given = {}
    for text in properties:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="'--property' / '-p'")
        given[key.strip()] = value
    return given


Properties: TypeAlias = Mapping[str, str]


def _connector(connector: str, file: Path | None, given: Properties) -> tuple[str, Properties, Properties]:
    """Name and properties of the connector, and the properties of its worker.

    The name is not the pipeline's: by it, a source may take this for the successor of the task that runs, and end that.
    """
    if file is None:
        return "read", {"connector.class": connector, **given}, {}
    own, worker = _from_file(connector, file)
    return f"read-{connector}", {**own, **given}, worker


def _from_file(connector: str, file: Path) -> tuple[Properties, Properties]:
    import os

    from eosfw.config.definition.config_def import nearest
    from eosfw.errors import ConfigError, Problem
    from eosfw.pipeline import load

    pipeline = load(file)
    os.chdir(pipeline.folder)  # where its relative paths start, as in a run
    if connector not in pipeline.connectors:
        near = nearest(connector, pipeline.connectors)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(pipeline.connectors) or 'none'}"
        raise ConfigError(Problem(file.name, f"has no [connectors.{connector}]; {hint}"))
    return pipeline.connectors[connector], pipeline.worker


def _as_json(record: SourceRecord) -> dict[str, Any]:
    shown: dict[str, Any] = {"topic": record.topic}
    if record.partition is not None:
        shown["partition"] = record.partition
    if record.timestamp is not None:
        shown["timestamp"] = record.timestamp
    if record.headers:
        shown["headers"] = [[name, _text(value)] for name, value in record.headers]
    shown |= {"key": _text(record.key), "value": _text(record.value)}
    return shown | {"source_partition": dict(record.source_partition), "source_offset": dict(record.source_offset)}


def _text(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
