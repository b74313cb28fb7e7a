"""The command line of `eosfw run`, as typer needs it."""

from __future__ import annotations

from typing import Any

import typer.core

from eosfw.cli.run.console_option import with_address
from eosfw.cli.run.verify_option import with_values


class RunCommand(typer.core.TyperCommand):
    """A command whose `--verify` and `--console` may have no value; `--no-verify` means `--verify=off`."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        return super().parse_args(ctx, list(with_address(with_values(args))))
