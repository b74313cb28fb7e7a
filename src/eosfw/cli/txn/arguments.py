"""Arguments of `eosfw txn`: states, ids, durations, partitions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import typer

from eosfw.cli.parsing.limits import LONGEST
from eosfw.config.definition.config_def import nearest
from eosfw.ids import TopicPartition
from eosfw.transactions import TransactionState

_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m|h|d)?")
_PARTITION = re.compile(r"(?P<topic>.+)-(?P<number>\d{1,10})", re.DOTALL)
_SECONDS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_state(text: str) -> TransactionState:
    """A state by Kafka's name, in upper or lower case; BadParameter names the nearest."""
    known = {one.value.lower(): one for one in TransactionState if one is not TransactionState.UNKNOWN}
    found = known.get(text.lower())
    if found is None:
        near = nearest(text.lower(), known)
        names = ", ".join(one.value for one in known.values())
        hint = f"did you mean {known[near].value}?" if near else f"there are: {names}"
        raise typer.BadParameter(f"no state {text!r}; {hint}", param_hint="--state")
    return found


def distinct_ids(ids: Sequence[str]) -> list[str]:
    """Transactional ids, each once; BadParameter if one is empty."""
    if not all(ids):
        raise typer.BadParameter("a transactional id is empty", param_hint="ID")
    return list(dict.fromkeys(ids))


def parse_duration(text: str | None) -> float | None:
    """Seconds in a text such as `90s`, `5m`, `2h`; a bare number is seconds."""
    if text is None:
        return None
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"{text!r} is no time; write it like 90s, 5m or 2h", param_hint="--older-than")
    seconds = float(found["number"]) * _SECONDS[found["unit"]]
    if seconds > LONGEST:
        raise typer.BadParameter(f"{text!r} is longer than {LONGEST:.0f} seconds", param_hint="--older-than")
    return seconds


def parse_partition(text: str) -> TopicPartition:
    """A partition written as topic, dash, number."""
    found = _PARTITION.fullmatch(text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is no partition; write it like orders-0", param_hint="PARTITION")
    return TopicPartition(found["topic"], int(found["number"]))
