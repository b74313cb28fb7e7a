"""Write docs/reference/broker.md from the broker's own definitions; a test finds the page out of date."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from eosfw.config import Key
from eosfw_memory.server.broker.settings import ALIASES, BROKER
from eosfw_memory.storage.log.topic_config import TOPIC
from eosfw_memory.storage.topics.defaults import SYNONYMS

PAGE = Path(__file__).with_name("broker.md")
HEAD = """# Properties of the embedded broker

Names, types and defaults are Kafka's unless the meaning says otherwise. `eosfw broker` takes them as
`--property KEY=VALUE`; `listeners`, `advertised.listeners`, `log.dirs`, `eosfw.tls.auto`, `eosfw.users.file` and
`eosfw.faults` are said by `--listen`, `--advertised`, `--data-dir`, `--tls`, `--users` and `--faults`. What begins with
`ssl.`, `eosfw.users.file` and `sasl.enabled.mechanisms` may stand behind `listener.name.NAME.` for one listener; the
users of a mechanism stand in that file, or in `listener.name.NAME.MECHANISM.sasl.jaas.config`, all in small letters but
the users. An unknown name is an error that suggests the nearest one. DescribeConfigs shows what is in force. This page
is made by `python docs/reference/broker_page.py`.

## Broker

| property | takes | default | meaning |
|---|---|---|---|
"""
TOPICS = """
## Topics

A topic's own property wins over the broker's, that over the default. Properties without a name in the third column
have no such default here.

| property | default | the broker's |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return HEAD + "".join(map(_row, BROKER.keys.values())) + "".join(_aliases()) + TOPICS + "".join(_topic_rows())


def _row(key: Key) -> str:
    takes = ", ".join(f"`{word}`" for word in getattr(key, "among", ())) or type(key).__name__
    return f"| `{key.name}` | {takes} | {_default(key)} | {key.doc} |\n"


def _default(key: Key) -> str:
    text = str(key.default).lower() if isinstance(key.default, bool) else key.default
    return "" if text in (None, "") else f"`{text}`"


def _aliases() -> Iterator[str]:
    for alias, name in ALIASES.items():
        yield f"| `{alias}` | | | KIP-98's name of `{name}` |\n"


def _topic_rows() -> Iterator[str]:
    for key in TOPIC.keys.values():
        synonyms = ", ".join(f"`{name}`" for name, _ in SYNONYMS.get(key.name, ()))
        yield f"| `{key.name}` | {_default(key)} | {synonyms} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
