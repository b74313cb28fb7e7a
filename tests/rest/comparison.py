"""What differs between a worker's REST interface and a real Kafka Connect's, and why it may."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

GOLDEN: dict[int, dict[str, Any]] = dict(
    enumerate(json.loads(Path(__file__).with_name("connect_answers.json").read_text(encoding="utf-8")))
)
"""What Kafka Connect 4.1.1 answered, in the order of the calls."""


class Difference(NamedTuple):
    """Calls that are answered in another way, with the status codes of both."""

    calls: str
    connect: int
    ours: int
    reason: str


INTERFACE = (
    Difference(r"(POST|PUT|PATCH) .*", 500, 400, "a body that cannot be understood is the client's mistake"),
    Difference(
        r'POST /connectors .*("connector.class": ("no.such|5)|"tasks.max": "many").*',
        *(400, 400, "Java's class names; one error for a value, not two"),
    ),
    Difference(r'POST /connectors .*"name": "c1", "name".*', 400, 400, "keys that are there twice are refused"),
    Difference(r"GET .*(//|%2f).*", 400, 400, "the same refusal, as JSON instead of HTML"),
    Difference(r"GET /connectors;x", 200, 400, "two readers may understand a path parameter differently"),
    Difference(r"OPTIONS .*", 200, 405, "no list of methods; /openapi.json has them"),
    Difference(r'PATCH .*/config .*"name": "other".*', 200, 400, "a connector's name cannot be changed, as with PUT"),
    Difference(
        r'PATCH .*/offsets .*\[\{(|"partition": (null|\{"filename": "x"\}).*)\}\]\}',
        *(200, 400, "an entry that does nothing is a mistake"),
    ),
    Difference(r"PATCH .*/offsets .*\}, \{.*", 200, 400, "a partition that is there twice is a mistake"),
    Difference(r"POST .*/restart\?.*", 202, 202, "the plan depends on what has just been restarted"),
)
"""Differences that the interface makes, whatever the worker does."""


def differences(answers: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each call that is answered differently: its name, Connect's answer, ours."""
    for (name, got), wanted in zip(answers, GOLDEN.values(), strict=True):
        assert name == wanted["call"], "the calls have changed: record Connect's answers again"
        if not _equal(got, wanted):
            yield name, wanted, got


def _equal(got: dict[str, Any], wanted: dict[str, Any]) -> bool:
    # Connect leaves out the content type of some errors.
    kinds = (wanted["content_type"], "application/json" if wanted["body"] is not None else None)
    return (got["status"], got["body"]) == (wanted["status"], wanted["body"]) and got["content_type"] in kinds


def explains(one: Difference, name: str, wanted: dict[str, Any], got: dict[str, Any]) -> bool:
    """Whether a known difference is this one."""
    same_codes = (one.connect, one.ours) == (wanted["status"], got["status"])
    return same_codes and re.fullmatch(one.calls, name, re.DOTALL) is not None
