"""Write docs/reference/modules.md from the public modules themselves; a test finds the page out of date."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).with_name("modules.md")
HEAD = """# Public modules

What plugins, backends and tests may import. A module on this page has an `__all__`: the names in it are public, all
others are private. A module that is not on this page is internal, and may change in any release. The packages
`eosfw_memory`, `eosfw_confluent`, `eosfw_kafka_python`, `eosfw_spark`, `eosfw_demo`, `eosfw_rest`, `eosfw_console`,
`eosfw_opentelemetry`, `eosfw_schema_registry`, `eosfw_postgres`, `eosfw_sql`, `eosfw_http` and `eosfw_singer` have no
public names of their own: they are reached by the [hooks](hooks.md). This page is made from the code by
`python docs/reference/modules_page.py`.
"""
PUBLIC = {
    "Connectors": (
        "eosfw",
        "eosfw.config",
        "eosfw.config.validators",
        "eosfw.connectors",
        "eosfw.data",
        "eosfw.plugin_metrics",
        "eosfw.records",
        "eosfw.errors",
    ),
    "Offset stores, fencers, isolation readers": (
        "eosfw.hookspecs",
        "eosfw.protocols",
        "eosfw.builtin.offset_store",
        "eosfw.builtin.fencer",
        "eosfw.builtin.isolation",
        "eosfw.config.parts",
        "eosfw.concurrency",
        "eosfw.ids",
        "eosfw.identity",
    ),
    "Backends": (
        "eosfw.capabilities",
        "eosfw.config.translation",
        "eosfw.config.security",
        "eosfw.config.jaas",
        "eosfw.security",
        "eosfw.config.idempotence",
        "eosfw.state.producer_state",
        "eosfw.state.read_progress",
        "eosfw.transactions",
        "eosfw.fence_producers_result",
        "eosfw.error_table",
        "eosfw.kafka_codes",
        "eosfw.outcomes",
        "eosfw.lso_blockers",
        "eosfw.closeables",
        "eosfw.retry_timer",
        "eosfw.test_support",
    ),
    "REST interfaces of workers": ("eosfw.protocols.herder",),
    "Commands, step engines and tools that run connectors": (
        "eosfw.cli",
        "eosfw.pipeline",
        "eosfw.runtime",
        "eosfw.registry",
        "eosfw.registry.parts",
        "eosfw.config.connector",
        "eosfw.config.named_file",
        "eosfw.config.properties_file",
        "eosfw.config.secrets",
        "eosfw.checker",
        "eosfw.observe",
        "eosfw.observe.timeline",
        "eosfw.hanging_transactions",
        "eosfw.count_difference",
        "eosfw.garbage_collection",
        "eosfw.health",
        "eosfw.open_files",
        "eosfw.text",
    ),
    "Tests": ("pytest_eos", "pytest_eos.contracts", "pytest_eos.virtual"),
    "Parts that are shipped, for wrapping and for examples": (
        "eosfw.builtin.converters",
        "eosfw_file",
        "eosfw_memory.client.backend",
        "eosfw_demo.flights",
    ),
}
"""The public modules, by what they are for."""


def page() -> str:
    """The whole page."""
    sections = [line for title, modules in PUBLIC.items() for line in _section(title, modules)]
    return "\n".join([HEAD, *sections])


def _section(title: str, modules: tuple[str, ...]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| module | for | public names |"
    yield "|---|---|---|"
    for name in modules:
        module = importlib.import_module(name)
        purpose = (module.__doc__ or "").strip().splitlines()[0]
        names = ", ".join(f"`{one}`" for one in module.__all__)
        yield f"| `{name}` | {purpose} | {names} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
