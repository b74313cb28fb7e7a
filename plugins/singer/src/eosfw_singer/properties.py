"""The properties of the connector."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eosfw.config import Choice, ConfigDef, Int, Key, List, Long, Password, String
from eosfw.config.named_file import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eosfw.config import Config


@dataclass(frozen=True, slots=True)
class Command(Key):
    """A program with its arguments, as a shell would read them; there is no shell."""

    def parse(self, text: str) -> tuple[str, ...]:
        words = tuple(shlex.split(text))
        if not words:
            raise ValueError("expected the path of a tap's executable")
        return words

    def shown(self, value: Any) -> str:
        return shlex.join(value)


@dataclass(frozen=True, slots=True)
class JsonObject(Password):
    """A JSON object, which may have secrets."""

    def parse(self, text: str) -> Any:
        return _object(text, "expected a JSON object")


@dataclass(frozen=True, slots=True)
class Json(Key):
    """A JSON object, or the path of a file that has one."""

    def parse(self, text: str) -> Any:
        expected = "expected a JSON object, or the path of a file with one"
        if not text.startswith("{"):
            try:
                text = read_text(Path(text))
            except (OSError, ValueError):
                raise ValueError(expected) from None
        return _object(text, expected)

    def shown(self, value: Any) -> str:
        return json.dumps(value)


@dataclass(frozen=True, slots=True)
class Pairs(Key):
    """`NAME=VALUE`, several separated by commas."""

    def parse(self, text: str) -> tuple[tuple[str, str], ...]:
        pairs = [one.partition("=") for one in text.split(",") if one.strip()]
        if not all(name.strip() and value.strip() for name, _, value in pairs):
            raise ValueError("expected STREAM=COLUMN, several separated by commas")
        return tuple((name.strip(), value.strip()) for name, _, value in pairs)

    def shown(self, value: Any) -> str:
        return ",".join("=".join(one) for one in value)


def _object(text: str, expected: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as why:
        raise ValueError(f"{expected}; it is no JSON from character {getattr(why, 'pos', 0) + 1} on") from None
    if not isinstance(found, dict):
        raise ValueError(expected)  # noqa: TRY004 - what a property raises
    return found


CONNECTOR = ConfigDef(
    Command(
        "tap.command", doc="the tap's executable, in the virtual environment of the tap, and arguments before ours"
    ),
    JsonObject("tap.config", default={}, doc="the tap's own configuration as a JSON object"),
    Json("tap.state", default=None, doc="a STATE to begin with as JSON, or the path of a file with it"),
    Json("catalog", default=None, doc="the tap's catalog as JSON, or the path of a file with it"),
    Choice(
        "catalog.option",
        default="--catalog",
        among=("--catalog", "--properties"),
        doc="the option by which the tap takes its catalog; old ones call it --properties",
        importance="LOW",
    ),
    List("streams", default=(), doc="the streams to read, by the catalog or, without one, by what the tap discovers"),
    Pairs(
        "replication.keys",
        default=(),
        doc="STREAM=COLUMN: streams to read incrementally by this column, which also tells rows that the tap repeats",
    ),
    List("full.table.streams", default=(), doc="streams of which each run of the tap gives all rows, which are sent"),
    String("topic.prefix", doc="what the topics' names begin with; the stream's name follows"),
    Long(
        "poll.interval.ms",
        default=60_000,
        at_least=0,
        doc="how long to wait between the end of a run of the tap and the next one, in milliseconds",
    ),
    Choice(
        "group.ends.at",
        default="state",
        among=("state", "run"),
        doc="what is committed together: rows up to a STATE, or of a whole run, if STATEs are ahead of their rows",
    ),
    Int("batch.max.rows", default=1000, at_least=1, doc="most rows of one poll, if a STATE comes among them"),
    Long(
        "buffer.max.bytes",
        default=128 << 20,
        at_least=1,
        doc="most bytes of lines that wait for a STATE; with transaction.boundary=connector none wait",
    ),
    Int(
        "lookback.rows",
        default=0,
        at_least=0,
        at_most=20_000,
        doc="how many rows of each stream to remember beside those with the latest replication key, for taps that "
        "read a while back",
    ),
    Choice(
        "older.rows",
        default="fail",
        among=("fail", "send"),
        doc="a row older than all that are remembered, which may have been sent before: fail the task, or send it",
    ),
    Choice(
        "malformed",
        default="fail",
        among=("fail", "skip"),
        doc="a line of the tap that is no message of Singer: fail the task, or count and skip it",
    ),
    Long("line.max.bytes", default=64 << 20, at_least=1, doc="most bytes of a line of the tap", importance="LOW"),
    Choice(
        "decimal.handling.mode",
        default="double",
        among=("precise", "double", "string"),
        doc="numbers with a fraction: a Decimal where multipleOf says how many digits it has, a FLOAT64, or a text",
    ),
    Choice(
        "time.precision.mode",
        default="isostring",
        among=("isostring", "connect"),
        doc="strings that are a date or a time: the text as it is, or Connect's Timestamp, Date and Time",
    ),
    Long(
        "tap.idle.timeout.ms",
        default=3_600_000,
        at_least=0,
        doc="how long a tap may write nothing, neither to stdout nor to stderr, before it is ended; 0 for ever",
    ),
    Int("max.retries", default=10, at_least=0, doc="how often in a row a tap that fails is started again"),
    Long("retry.backoff.ms", default=3000, at_least=0, doc="how long to wait before that, in milliseconds"),
)


def task_properties(config: Config) -> Mapping[str, str]:
    """The properties of the only task, as they were given: secrets may come from a config provider."""
    return {name: config.given[name] for name in CONNECTOR.keys if name in config.given}
