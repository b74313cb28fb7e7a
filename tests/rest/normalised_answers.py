"""Answers as they are kept for the comparison, without what differs from worker to worker."""

from __future__ import annotations

import json
import re
from typing import Any

_NORMALISED = {
    "worker_id": "<worker>",
    "version": "<version>",
    "commit": "<commit>",
    "kafka_cluster_id": "<cluster>",
    "last_modified": "<time>",
    "trace": "<trace>",
}
"""Fields whose values differ from worker to worker."""
_COMPARED = {"name", "connector.class", "tasks.max", "file", "topic", "batch.size"}
"""Properties whose definitions are compared; each of both has more."""


def normalised(value: Any) -> Any:
    """An answer without what differs from worker to worker, or from time to time."""
    if isinstance(value, dict):
        return {
            key: _NORMALISED[key] if key in _NORMALISED and item is not None else normalised(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [normalised(item) for item in value if _is_compared(item)]
    return re.sub(r"location='[^']*'", "", value)[:400] if isinstance(value, str) else value


def _is_compared(item: Any) -> bool:
    definition = item.get("definition", item) if isinstance(item, dict) else {}
    return "importance" not in definition or definition["name"] in _COMPARED


def answer(status: int, content_type: str | None, body: bytes, folder: str) -> dict[str, Any]:
    """An answer as it is kept."""
    text = body.decode("utf-8", "replace").replace(folder, "{folder}")
    try:
        shown: Any = normalised(json.loads(text)) if text else None
    except ValueError:
        shown = "<html>" if text.startswith("<html>") else text
    return {"status": status, "content_type": content_type, "body": shown}
