"""The command line of `eosfw doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosfw.cli.parsing.addresses import parse_listener

if TYPE_CHECKING:
    from eosfw.cli.doctor.checks import Section


def command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[PIPELINE]", help="A pipeline file: what it needs is looked at as well.")
    ] = None,
    *,
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Also tell whether this address is free for a broker.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")] = False,
) -> None:
    """Look at Python, installed parts, plugins, Java, ports, a pipeline's cluster and sources; tell what to mend.

    Starts nothing but `java -version`. Exit code 0: nothing is broken (what is optional may be absent); 3: something
    is; 6: the pipeline's cluster, or a connector's source, cannot be reached.
    """
    from eosfw.cli.doctor.checks import exit_code
    from eosfw.cli.doctor.report import as_json, as_text
    from eosfw.cli.output.console import TerminalStyle
    from eosfw.cli.output.stdout import reserved_stdout

    address = None if listen is None else parse_listener("--listen", listen)
    style = TerminalStyle.of_stdout()
    with reserved_stdout() as write:  # a plugin may print when it is imported
        sections = _sections(file, address)
        write(as_json(sections) if json_ else as_text(sections, style))
    raise typer.Exit(exit_code(sections))


def _sections(file: Path | None, listen: str | None) -> list[Section]:
    from eosfw.cli.doctor.checks import Section, check_environment
    from eosfw.registry import load_plugins

    plugins = load_plugins().imported()
    sections = check_environment(plugins, listen)
    if file is not None:
        from eosfw.cli.doctor.pipeline import pipeline_findings
        from eosfw.concurrency import ThreadRuntime

        sections.append(Section("Pipeline", pipeline_findings(file, plugins, ThreadRuntime())))
    return sections
