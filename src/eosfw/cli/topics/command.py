"""The command line of `eosfw topics`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from eosfw.cli.connection import ClusterTarget, open_session
from eosfw.cli.output.rows import RowFormat
from eosfw.cli.output.standard_streams import print_message
from eosfw.cli.output.stdout import reserved_stdout
from eosfw.cli.parsing.command_group import command_group
from eosfw.cli.parsing.limits import MOST_INT32, utf8

_Topics = Annotated[list[str], typer.Argument(metavar="TOPIC...", help="Their names.", callback=utf8)]
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]
_BROKERS_DEFAULT = -1
_MOST_REPLICAS = 2**15 - 1
_HELP = "Create, look at and delete the topics of a cluster."


def group() -> typer.Typer:
    """The command with what can be done to topics."""
    return command_group(
        _HELP,
        ("create", create, "Create a topic."),
        ("list", list_, "List topics with their number of partitions."),
        ("describe", describe, "Tell offsets and properties of topics."),
        ("delete", delete, "Delete topics with their records."),
    )


def create(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="Its name.", callback=utf8)],
    target: ClusterTarget,
    *,
    partitions: Annotated[int, typer.Option(min=1, max=MOST_INT32, help="How many partitions it gets.")] = 1,
    replication_factor: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST_REPLICAS, help="How many brokers keep each partition; by default the cluster's."),
    ] = None,
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="A topic property, such as cleanup.policy=compact; may be repeated.",
            callback=utf8,
        ),
    ] = None,
    json_: _Json = False,
) -> None:
    """Create a topic; it can be written to once this returns."""
    from eosfw.cli.topics import changes
    from eosfw.cli.topics.queries import topic_rows
    from eosfw.protocols import NewTopic

    wanted = NewTopic(topic, partitions, replication_factor or _BROKERS_DEFAULT, changes.parse_properties(config or ()))
    changes.refuse_internal([topic])
    shown = RowFormat.of_stdout("topics", json=json_)
    with reserved_stdout() as write, open_session(target) as session:
        changes.create(session.admin, wanted)
        write(shown.table(topic_rows({topic: partitions})))


def list_(target: ClusterTarget, *, json_: _Json = False) -> None:
    """List all topics, those of the cluster's own with them."""
    from eosfw.cli.topics.queries import topic_rows

    shown = RowFormat.of_stdout("topics", json=json_)
    with reserved_stdout() as write, open_session(target) as session:
        rows = topic_rows(session.admin.partitions())
        if rows or json_:
            write(shown.table(rows))
        else:
            print_message("none")


def describe(topics: _Topics, target: ClusterTarget, *, json_: _Json = False) -> None:
    """Tell the id, the offsets of each partition and the properties in force."""
    from eosfw.cli.topics.queries import description_rows

    shown = RowFormat.of_stdout("topics", json=json_)
    with reserved_stdout() as write, open_session(target) as session:
        rows = description_rows(session.admin, list(dict.fromkeys(topics)))
        if not json_:
            rows = [{**{k: v for k, v in row.items() if k != "config"}, **row["config"]} for row in rows]
        write(shown.paragraphs(rows))


def delete(
    topics: _Topics,
    target: ClusterTarget,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    json_: _Json = False,
) -> None:
    """Delete topics with their records, after asking; if one of them does not exist, none is deleted."""
    from eosfw.cli.topics import changes
    from eosfw.cli.topics.queries import partition_counts, topic_rows

    names, shown = list(dict.fromkeys(topics)), RowFormat.of_stdout("topics", json=json_)
    changes.refuse_internal(names)
    if not yes and not os.isatty(0):
        raise typer.BadParameter("stdin is no terminal, so nobody can be asked; add --yes", param_hint="TOPIC")
    with reserved_stdout() as write, open_session(target, "delete_topics") as session:
        counts = partition_counts(session.admin, names)
        what = ", ".join(f"{name} ({changes.counted(count)})" for name, count in counts.items())
        if not yes and not typer.confirm(f"Delete {what} with all records?", err=True):
            print_message("nothing was deleted")
            return
        changes.delete(session.admin, names)
        write(shown.table(topic_rows(counts)))
