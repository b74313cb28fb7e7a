"""How tests run pytest in a process of its own."""

from __future__ import annotations

WITHOUT_PLUGINS = ("-pno:hypothesispytest", "-pno:anyio", "-pno:random_order")
"""Leave out the plugins that connectors' tests do not use: their import is a third of what a small run costs."""
