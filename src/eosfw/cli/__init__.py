"""The command `eosfw`.

A distribution adds a command of its own by an entry point in group `eosfw.commands`: its name is the command's name,
its value a plain function typed for typer, or a `typer.Typer`. For example, in a pyproject.toml:

    [project.entry-points."eosfw.commands"]
    demo = "eosfw_demo.command:command"

The module is imported for `eosfw --help`, so it imports what is heavy inside the function. Errors are raised as
`eosfw.errors.EosfwError`: the command line turns them into one sentence and the exit code of the error; any other exit
code is `typer.Exit(code)`.
"""

from eosfw.cli.entry import main
from eosfw.cli.output.stdout import reserved_stdout

__all__ = ["main", "reserved_stdout"]
