"""The extension points: pluggy hooks, and what needs no hook.

A plugin is a module named by an entry point in group `eosfw`; it decorates functions of these names with `@hookimpl`.
Each returns classes that name themselves (`name = "..."`), or a `PluginDesc` of each class whose import costs much.
Two classes of one role and name are refused, with the names of their distributions. The framework's own parts use the
same hooks. Contracts: `eosfw.protocols`, `eosfw.connectors`.
A plugin that says `eosfw_api = 1` is refused, by name, by a framework with another version of the hooks. Commands, and
what a class may implement beside the contract of its role, need no hook: they are at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import pluggy

if TYPE_CHECKING:
    from eosfw.connectors import SourceConnector
    from eosfw.protocols import (
        Backend,
        ClientConfigOverridePolicy,
        ConfigProvider,
        Converter,
        Fencer,
        HeaderConverter,
        IsolationReader,
        LocalCluster,
        MetricsReporter,
        Observer,
        OffsetStore,
        Predicate,
        RestExtension,
        RestServer,
        StepEngine,
        Transformation,
    )

__all__ = [
    "API",
    "COMMANDS_GROUP",
    "OPTIONAL",
    "PROJECT",
    "OptionalProtocol",
    "PluginDesc",
    "eosfw_backends",
    "eosfw_client_config_override_policies",
    "eosfw_clusters",
    "eosfw_config_providers",
    "eosfw_connectors",
    "eosfw_converters",
    "eosfw_fencers",
    "eosfw_header_converters",
    "eosfw_isolation_readers",
    "eosfw_metrics_reporters",
    "eosfw_observers",
    "eosfw_offset_stores",
    "eosfw_predicates",
    "eosfw_rest_extensions",
    "eosfw_rest_servers",
    "eosfw_step_engines",
    "eosfw_transforms",
    "hookimpl",
]

PROJECT = "eosfw"
API = 1
"""The version of the hooks; it is raised when a change keeps older plugins from working."""
_hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class PluginDesc(NamedTuple):
    """A class that is imported when somebody chooses it by name (Kafka Connect's `PluginDesc`, KIP-898).

    A hook returns it in place of the class, so that commands which do not use the class need not import what it
    imports, such as the client library of a database.
    """

    class_name: str
    """As module:Class."""
    name: str
    """What the class calls itself."""
    aliases: tuple[str, ...] = ()
    """The other names that the class states."""


# --- the three hooks a guarantee rests on


@_hookspec
def eosfw_offset_stores() -> Iterable[type[OffsetStore] | PluginDesc]:  # type: ignore[empty-body]
    """Offer ways to state source offsets as records of a topic; the property `offset.store` chooses one."""


@_hookspec
def eosfw_fencers() -> Iterable[type[Fencer] | PluginDesc]:  # type: ignore[empty-body]
    """Offer ways to shut out an earlier generation of task producers; the property `fencer` chooses one.

    Without it one named like the backend is used, else `admin`, which is the backend's own `Admin.fence_producers`.
    """


@_hookspec
def eosfw_isolation_readers() -> Iterable[type[IsolationReader] | PluginDesc]:  # type: ignore[empty-body]
    """Offer ways to read a topic at an isolation level; the property `isolation.reader` chooses one."""


# --- clusters, connectors, steps


@_hookspec
def eosfw_backends() -> Iterable[type[Backend] | PluginDesc]:  # type: ignore[empty-body]
    """Offer clients of a Kafka cluster."""


@_hookspec
def eosfw_clusters() -> Iterable[type[LocalCluster] | PluginDesc]:  # type: ignore[empty-body]
    """Offer clusters that can be served from this machine, for runs that name no `bootstrap.servers`."""


@_hookspec
def eosfw_connectors() -> Iterable[type[SourceConnector] | PluginDesc]:  # type: ignore[empty-body]
    """Offer source connectors."""


@_hookspec
def eosfw_step_engines() -> Iterable[type[StepEngine] | PluginDesc]:  # type: ignore[empty-body]
    """Offer engines that run steps over committed records."""


@_hookspec
def eosfw_rest_servers() -> Iterable[type[RestServer] | PluginDesc]:  # type: ignore[empty-body]
    """Offer REST interfaces of a worker; a group of more than one worker needs one, for workers call each other."""


@_hookspec
def eosfw_rest_extensions() -> Iterable[type[RestExtension] | PluginDesc]:  # type: ignore[empty-body]
    """Offer routes and middleware for the REST interface; a worker's property `rest.extension.classes` chooses."""


# --- values of properties


@_hookspec
def eosfw_config_providers() -> Iterable[type[ConfigProvider] | PluginDesc]:  # type: ignore[empty-body]
    """Offer places where values of properties come from; a worker's `config.providers.NAME.class` says which."""


@_hookspec
def eosfw_client_config_override_policies() -> Iterable[type[ClientConfigOverridePolicy] | PluginDesc]:  # type: ignore[empty-body]
    """Offer policies for what connectors may change of their clients.

    A worker's property `connector.client.config.override.policy` chooses one.
    """


# --- records on their way from a task to a topic


@_hookspec
def eosfw_transforms() -> Iterable[type[Transformation] | PluginDesc]:  # type: ignore[empty-body]
    """Offer transformations of records; a connector's properties `transforms` and `transforms.ALIAS.type` choose."""


@_hookspec
def eosfw_predicates() -> Iterable[type[Predicate] | PluginDesc]:  # type: ignore[empty-body]
    """Offer predicates, by which transformations apply to some records alone; `predicates.ALIAS.type` chooses."""


@_hookspec
def eosfw_converters() -> Iterable[type[Converter] | PluginDesc]:  # type: ignore[empty-body]
    """Offer converters to bytes; `key.converter`, `value.converter` and `header.converter` choose."""


@_hookspec
def eosfw_header_converters() -> Iterable[type[HeaderConverter] | PluginDesc]:  # type: ignore[empty-body]
    """Offer converters for headers alone; `header.converter` chooses."""


# --- observers


@_hookspec
def eosfw_observers() -> Iterable[type[Observer] | PluginDesc]:  # type: ignore[empty-body]
    """Offer listeners to every step of the startup protocol and of transactions."""


@_hookspec
def eosfw_metrics_reporters() -> Iterable[type[MetricsReporter] | PluginDesc]:  # type: ignore[empty-body]
    """Offer ways to report what a worker measures; a worker's property `metric.reporters` chooses."""


# --- without a hook

COMMANDS_GROUP = "eosfw.commands"
"""Entry points of this group become subcommands of `eosfw`: a function, or a `typer.Typer` with commands of its own."""


class OptionalProtocol(NamedTuple):
    """A protocol that classes may implement beside the contract of their role; callers check with `isinstance`."""

    protocol: str
    """As module:Class."""
    implemented_by: str
    called_by: str


OPTIONAL = (
    OptionalProtocol(
        "eosfw.config.parts:Configurable",
        "offset stores, fencers, isolation readers, transformations, predicates, converters, header converters, config "
        "providers, REST extensions, metrics reporters, client config override policies",
        "whoever makes one",
    ),
    OptionalProtocol("eosfw.health:HealthCheck", "classes of every role", "`eosfw doctor`, which waits 30 s at most"),
    OptionalProtocol("eosfw.protocols:Observer", "REST extensions", "the worker, at each of its steps"),
    OptionalProtocol("eosfw.connectors:CommitsRecords", "tasks of connectors", "the worker, behind each commit"),
    OptionalProtocol("eosfw.connectors:AltersOffsets", "connectors", "the worker, before a user's change of offsets"),
    OptionalProtocol(
        "eosfw.config.parts:Aliased", "classes of every role that a property chooses", "whoever makes one"
    ),
    OptionalProtocol(
        "eosfw.plugin_metrics:Monitorable",
        "transformations, predicates, converters, header converters",
        "the task, when it starts",
    ),
    OptionalProtocol(
        "eosfw.closeables:Closeable",
        "transformations, predicates, converters, header converters",
        "the task, at its end",
    ),
    OptionalProtocol("eosfw.protocols:BatchTransformation", "transformations", "the task, for speed"),
    OptionalProtocol("eosfw.protocols:BatchPredicate", "predicates", "the task, for speed"),
    OptionalProtocol("eosfw.protocols:BatchConverter", "converters", "the task, for speed"),
    OptionalProtocol("eosfw.protocols:ReversibleConverter", "converters", "`pytest-eos`, to read what was written"),
    OptionalProtocol("eosfw.protocols:ArrowIsolationReader", "isolation readers", "tasks of Spark, for speed"),
    OptionalProtocol("eosfw.protocols:ArrowLogReader", "readers of backends", "isolation readers, for tasks of Spark"),
    OptionalProtocol("eosfw.protocols:TaskHost", "step engines", "`eosfw run --engine`"),
    OptionalProtocol("eosfw.test_support:ProducerLookup", "clusters", "`pytest-eos`, to say who wrote a record"),
    OptionalProtocol("eosfw.test_support:LogInspection", "backends", "`pytest-eos`, for the history of a run"),
    OptionalProtocol("eosfw.test_support:FaultInjection", "clusters", "`pytest-eos`, for the fixture `faults`"),
    OptionalProtocol("eosfw.test_support:RestartInspection", "clusters", "`pytest-eos`, for the history of a run"),
    OptionalProtocol("eosfw.test_support:CoordinatorInspection", "clusters", "`pytest-eos`, for the history of a run"),
    OptionalProtocol("eosfw.test_support:SecuredCluster", "clusters", "`eosfw broker --tls auto` and `pytest-eos`"),
    OptionalProtocol("eosfw.test_support:AuthorizedCluster", "clusters", "`pytest-eos`, for `rights` of `eos_cluster`"),
)
