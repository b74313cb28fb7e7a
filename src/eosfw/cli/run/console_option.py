"""The option `--console`, whose value may be left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from eosfw.cli.run.optional_value import with_value

OPTION: Final = "--console"
METAVAR: Final = "[HOST:PORT]"
HELP: Final = (
    "Serve pages that show the run in a browser, on loopback until it ends: connectors, open transactions, the "
    "timeline with its fencings. Without HOST:PORT on a free port; needs eosfw[console]."
)
_FREE_PORT: Final = "127.0.0.1:0"
_ADDRESS: Final = re.compile(r"[^\s:/]+:\d+|\[[0-9a-fA-F:]+\]:\d+")


def with_address(arguments: Iterable[str]) -> Iterator[str]:
    """The command line with an address for each `--console`."""
    return with_value(arguments, OPTION, _FREE_PORT, lambda text: _ADDRESS.fullmatch(text) is not None)
