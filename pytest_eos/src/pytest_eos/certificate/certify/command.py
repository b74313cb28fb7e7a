"""The command `eosfw certify`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from eosfw.errors import ExitCode

RECORDS: Final = 200
"""How many records of an endless source are enough, unless the command says another number."""


class Part(StrEnum):
    """What can be left out."""

    FAULTS = "faults"
    GROUPS = "groups"
    KILLS = "kills"
    RIGHTS = "rights"
    SIMULATION = "simulation"
    SPARK = "spark"


class Clock(StrEnum):
    """Whether the tests that can live in virtual time do."""

    AUTO = "auto"
    REAL = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """What the connector reads."""

    properties: Annotated[
        Path | None,
        typer.Option(help="Properties with which it has records, as .properties or JSON; without, its defaults."),
    ] = None
    records: Annotated[int, typer.Option(min=1, help="How many records of an endless source are enough.")] = RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationOptions:
    """Which simulated runs are played."""

    seeds: Annotated[int, typer.Option(min=1, help="How many simulated runs there are.")] = 30
    seed: Annotated[
        str | None,
        typer.Option(metavar="SEED", help="Play this simulated run alone, as the page of one that failed says it."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """On which cluster, with which client."""

    bootstrap_servers: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Try it on this Kafka cluster. [default: embedded brokers]"),
    ] = None
    command_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Properties of a client of that cluster: TLS, SASL.")
    ] = None
    backend: Annotated[str, typer.Option(help="The client of the workers.")] = "memory"
    clock: Annotated[
        Clock, typer.Option(help="real: for a connector with threads or waits of its own that hangs in virtual time.")
    ] = Clock.AUTO


def command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An installed connector; `eosfw plugins` lists them.")],
    source: SourceOptions,
    simulation: SimulationOptions,
    cluster: ClusterOptions,
    *,
    output: Annotated[
        Path | None,
        typer.Option(help="The page, FILE.html; JSON and badge go beside it. [default: certificate-NAME.html]"),
    ] = None,
    without: Annotated[list[Part] | None, typer.Option(help="Leave this out; repeat it for more.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object on stdout instead of the table.")] = False,
) -> None:
    """Try to break a connector's exactly-once promise in every way there is; write what became of it as a page.

    Contract, zombies and kills at every step, faults of the broker, simulated runs, SIGKILL of worker processes, Spark
    where it is installed. Exit code 0: it held; 1: it did not, or nothing was shown.
    """
    # imported here, because `eosfw --help` imports this module and must stay fast
    import json

    from pytest_eos.certificate.badge import markdown
    from pytest_eos.certificate.certify.environment import checked_environment
    from pytest_eos.certificate.certify.job import CertifyJob
    from pytest_eos.certificate.certify.process import certify
    from pytest_eos.certificate.certify.properties_file import read_properties
    from pytest_eos.certificate.certify.summary import summary
    from pytest_eos.certificate.certify.target import checked_page, checked_seed, checked_target, play_again

    target = checked_target(name, {} if source.properties is None else read_properties(source.properties))
    seed = simulation.seed
    name_of_page = target.name if seed is None else f"{target.name}-seed-{checked_seed(seed)}"
    page = checked_page(output, name_of_page, source.properties)
    environment = checked_environment(cluster.bootstrap_servers, cluster.command_config, cluster.backend, cluster.clock)
    left_out = environment.left_out | {part.value: f"left out by --without {part.value}" for part in without or ()}
    again = play_again(name, source.properties, source.records)
    job = CertifyJob(target.connector, target.properties, source.records, left_out, simulation.seeds, again)
    data = certify(job, page, environment.arguments, seed)
    shown = markdown(data["verdict"], page.with_suffix(".svg").name, page.name)
    if json_:
        files = {"page": str(page), "json": str(page.with_suffix(".json")), "badge": str(page.with_suffix(".svg"))}
        typer.echo(json.dumps({**data, "files": files, "badge": shown}))
    else:
        typer.echo("\n".join([*summary(data), f"page: {page}", f"badge: {shown}"]))
    if data["verdict"] != "held":
        raise typer.Exit(ExitCode.VERDICT_FAILED)
