"""One connector: its state, its rates, its tasks, its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from eosfw.observe import worst_state
from eosfw.text import error_line
from eosfw_console.actions import possible_actions
from eosfw_console.connector_state import state_sentence
from eosfw_console.pages.page import Page, PageRequest
from eosfw_console.throughput import connector_counts, parsed_metrics, source_metrics, sparkline
from eosfw_console.worker_client import RestError, WorkerClient, connector_path, connector_status
from eosfw_console.worker_requests import WorkerAnswers

HIDDEN: Final = "(hidden)"
"""Stands for a value that may be a secret."""


def connector_page(request: PageRequest) -> Page:
    """`/ui/connectors/{connector}`."""
    client, name = request.client, request.parameters["connector"]
    info = client.get(connector_path(name))
    status = connector_status(client, name)
    group = client.get("/group")
    measured = _measured(request, name, group)
    metrics = parsed_metrics(measured.texts.values())
    counts = connector_counts(metrics)
    if not measured.quiet:
        # Without those of one worker the counts would fall, and later rise as if all were written at once.
        request.throughput.add(name, counts)
    records = request.throughput.records_per_second(name)
    transactions = request.throughput.transactions_per_second(name)
    return Page(
        "connector.html",
        ("state", "actions", "rates", "tasks", "source"),
        {
            "connector": name,
            "state": worst_state(status),
            "sentence": state_sentence(status, group["moving"]),
            "actions": possible_actions(status),
            "counts": counts,
            "rate": records[-1] if records else None,
            "transaction_rate": transactions[-1] if transactions else None,
            "points": sparkline(records),
            "top": max(records, default=0.0),
            "tasks": [{"trace": None, **task, "reason": error_line(task.get("trace"))} for task in status["tasks"]],
            "trace": status["connector"].get("trace"),
            "quiet": measured.quiet,
            "source": source_metrics(metrics),
            # Called by the page, not by its regions: they do not change while somebody looks.
            "topics": partial(_topics, client, name),
            "config": partial(shown_config, client, info["config"]),
        },
    )


def shown_config(client: WorkerClient, config: Mapping[str, str]) -> Mapping[str, str]:
    """The properties of a connector; the value of each that is a password, or that nobody defines, stays hidden."""
    plugin = quote(config.get("connector.class", ""), safe="")
    try:
        definitions = client.get(f"/connector-plugins/{plugin}/config")
    except RestError:  # a worker without this plugin cannot tell which values are secrets
        definitions = []
    plain = {one["name"] for one in definitions if one["type"] != "PASSWORD"} | {"name", "connector.class"}
    return {name: value if name in plain else HIDDEN for name, value in sorted(config.items())}


def _measured(request: PageRequest, connector: str, group: Mapping[str, Any]) -> WorkerAnswers:
    """What the workers that run a task of the connector have measured for it."""
    urls = [
        worker["url"]
        for worker in group["workers"]
        if worker["url"] and any(task["connector"] == connector for task in worker["tasks"])
    ]
    return request.workers.ask(request.client, urls, f"/metrics?connector={quote(connector, safe='')}")


def _topics(client: WorkerClient, connector: str) -> Sequence[str]:
    try:
        found = client.get(connector_path(connector, "topics"))
    except RestError:  # topic.tracking.enable=false
        return []
    return sorted(found[connector]["topics"])
