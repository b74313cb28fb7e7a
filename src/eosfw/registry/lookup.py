"""Look-up of plugins by role."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from eosfw.config.definition.config_def import REQUIRED, Key, nearest, trimmed
from eosfw.config.override_policy import POLICY
from eosfw.config.parts import (
    FENCER,
    HEADER_CONVERTER,
    ISOLATION_READER,
    OFFSET_STORE,
    VALUE_CONVERTER,
    Aliased,
    Configurable,
)
from eosfw.distributions import extras
from eosfw.errors import PluginError, one_line
from eosfw.hookspecs import PluginDesc
from eosfw.registry.checks import contract_problem, description_problem

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

_PART_KEYS = {
    "offset store": OFFSET_STORE,
    "fencer": FENCER,
    "isolation reader": ISOLATION_READER,
    "transformation": "transforms.ALIAS",
    "predicate": "predicates.ALIAS",
    "converter": VALUE_CONVERTER,
    "header converter": HEADER_CONVERTER,
    "config provider": "config.providers.NAME.param",
    "REST extension": "rest.extension.classes.NAME",
    "metrics reporter": "metric.reporters.NAME",
    "client config override policy": POLICY,
}
"""The property that chooses a part of each role; the part's own properties have it for a prefix."""


class PluginRow(NamedTuple):
    """One class that a distribution offers for a role."""

    role: str
    name: str
    distribution: str
    version: str


class PartProperty(NamedTuple):
    """A property of a part that a plugin offers, by the name that a user writes."""

    role: str
    name: str
    property: str
    default: str
    doc: str


class PluginFailure(NamedTuple):
    """Why a part of a plugin does not work; all other parts do."""

    distribution: str
    entry_point: str
    reason: str


@dataclass(frozen=True, slots=True)
class PluginSource:
    """Where a plugin comes from."""

    distribution: str
    version: str
    entry_point: str


@dataclass(frozen=True)
class RegisteredPlugin:
    """One class offered for a role: checked, or described and checked when it is imported."""

    role: str
    offered: type[Any] | PluginDesc
    source: PluginSource

    @cached_property
    def cls(self) -> type[Any]:
        """The class, imported now if it was only described; PluginError if that fails."""
        return self._imported(self.offered) if isinstance(self.offered, PluginDesc) else self.offered

    @property
    def name(self) -> str:
        """What the class calls itself."""
        return str(self.offered.name)

    @property
    def version(self) -> str:
        """The version that a connector states, else that of the distribution."""
        stated: str | None = self.cls.version if self.role == "connector" else None
        return stated or self.source.version

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names by which it can be chosen, such as that of a class of Kafka Connect."""
        return tuple(self.offered.aliases) if isinstance(self.offered, PluginDesc | Aliased) else ()

    @property
    def class_name(self) -> str:
        """As module:Class."""
        return self.offered.class_name if isinstance(self.offered, PluginDesc) else _class_name(self.offered)

    def offers(self, kind: type[Any]) -> bool:
        """Whether this is its class, which is not imported to know it."""
        return self.class_name == _class_name(kind)

    def _imported(self, described: PluginDesc) -> type[Any]:
        module, _, name = described.class_name.partition(":")
        try:
            found = getattr(import_module(module), name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (a plugin may even call sys.exit when imported)
            problem: str | None = one_line(error)
        else:
            problem = contract_problem(self.role, found) or description_problem(described, found)
        if problem is not None:
            raise PluginError(f"{self.role} {self.name!r} of {self.source.distribution} does not load: {problem}")
        return found  # type: ignore[no-any-return]


class Plugins:
    """The installed plugins by role. The error of a failed look-up names what is installed, and what to install."""

    def __init__(self, found: Iterable[RegisteredPlugin], failures: Iterable[PluginFailure]) -> None:
        self._found = tuple(found)
        self.failures = tuple(failures)

    def backend(self, name: str) -> type[Backend]:
        """A client of some cluster, by name."""
        return self._named("backend", name)

    def cluster(self, name: str | None = None) -> type[LocalCluster]:
        """A cluster this machine can serve; without a name, the only one installed."""
        return self._only("cluster") if name is None else self._named("cluster", name)

    def fencer(self, backend: str, name: str | None = None) -> type[Fencer]:
        """A fencer by name; without one that which is named like the backend, else `admin`, which asks its Admin."""
        default = backend if backend in self.names("fencer") else "admin"
        return self._named("fencer", default if name is None else name)

    def offset_store(self, name: str = "kafka") -> OffsetStore:
        """An offset store, made."""
        store: OffsetStore = _instantiate(self._find("offset store", name))
        return store

    def transformation(self, name: str) -> Transformation:
        """A transformation, made."""
        made: Transformation = _instantiate(self._find("transformation", name))
        return made

    def predicate(self, name: str) -> Predicate:
        """A predicate, made."""
        made: Predicate = _instantiate(self._find("predicate", name))
        return made

    def converter(self, name: str) -> Converter:
        """A converter, made."""
        made: Converter = _instantiate(self._find("converter", name))
        return made

    def header_converter(self, name: str) -> HeaderConverter | Converter:
        """What converts headers, made: a header converter, else a converter of this name."""
        if not self._called("header converter", name) and self._called("converter", name):
            return self.converter(name)
        made: HeaderConverter = _instantiate(self._find("header converter", name, "converter"))
        return made

    def config_provider(self, name: str) -> ConfigProvider:
        """A config provider, made."""
        made: ConfigProvider = _instantiate(self._find("config provider", name))
        return made

    def rest_extension(self, name: str) -> RestExtension:
        """An extension of the REST interface, made."""
        made: RestExtension = _instantiate(self._find("REST extension", name))
        return made

    def client_config_override_policy(self, name: str) -> ClientConfigOverridePolicy:
        """A policy for overrides of clients, made."""
        made: ClientConfigOverridePolicy = _instantiate(self._find("client config override policy", name))
        return made

    def metrics_reporter(self, name: str) -> MetricsReporter:
        """A metrics reporter, made."""
        made: MetricsReporter = _instantiate(self._find("metrics reporter", name))
        return made

    def isolation_reader(self, name: str = "read_committed") -> type[IsolationReader]:
        """A reader of an isolation level."""
        return self._named("isolation reader", name)

    def step_engine(self, name: str | None = None) -> type[StepEngine]:
        """An engine for steps; without a name, the only one installed."""
        return self._only("step engine") if name is None else self._named("step engine", name)

    def rest_server(self) -> type[RestServer] | None:
        """The REST interface, or None if none is installed."""
        return self._only("REST interface") if self._of("REST interface") else None

    def connector(self, connector_class: str) -> SourceConnector:
        """A connector, made; `connector_class` is its name, its class name, `module:Class`, or an alias."""
        offered = self._of("connector")
        spellings = [text for one in offered for text in _spellings(one)[:2]]
        exact = self._connectors_called(connector_class)
        made: SourceConnector = _instantiate(self._single("connector", connector_class, exact, spellings))
        return made

    def connector_version(self, connector_class: str) -> str | None:
        """The version of a connector; None if none is installed by this name."""
        return next((one.version for one in self._connectors_called(connector_class)), None)

    def version_of(self, kind: type[Any]) -> str | None:
        """The version of a class that is offered for some role; None if it is not."""
        return next((one.version for one in self._found if one.offers(kind)), None)

    def _connectors_called(self, connector_class: str) -> list[RegisteredPlugin]:
        connector_class = trimmed(connector_class)
        named = [one for one in self._of("connector") if connector_class in _spellings(one)]
        return [one for one in named if one.name == connector_class] or named

    def observers(self) -> list[Observer]:
        """Every observer installed, made."""
        return [_instantiate(one) for one in self._of("observer")]

    def names(self, role: str) -> tuple[str, ...]:
        """The names of the installed plugins of a role."""
        return tuple(sorted({one.name for one in self._of(role)}))

    def all(self) -> list[PluginRow]:
        """A row for each class, by role."""
        return [PluginRow(one.role, one.name, one.source.distribution, one.source.version) for one in self._found]

    def part_properties(self) -> list[PartProperty]:
        """The properties of every part that takes some."""
        parts = [one for one in self._found if one.role in _PART_KEYS and isinstance(one.cls, Configurable)]
        return [
            PartProperty(one.role, one.name, f"{_PART_KEYS[one.role]}.{name}", _default_text(key), key.doc)
            for one in parts
            for name, key in one.cls.config.keys.items()
        ]

    def registered(self) -> tuple[RegisteredPlugin, ...]:
        """Every class that is offered for a role, with its source."""
        return self._found

    def imported(self) -> Plugins:
        """The same with every class imported; those that do not load are among the failures instead."""
        found, failures = [], list(self.failures)
        for one in self._found:
            try:
                _ = one.cls
            except PluginError as error:
                failures.append(PluginFailure(one.source.distribution, one.source.entry_point, str(error)))
            else:
                found.append(one)
        return Plugins(found, failures)

    def classes(self) -> list[tuple[type[Any], str]]:
        """Every class once, with its distribution."""
        return list({one.cls: (one.cls, one.source.distribution) for one in self._found}.values())

    def clashes(self) -> list[str]:
        """Messages about names that two classes of one role have."""
        keys = dict.fromkeys((one.role, one.name) for one in self._found)
        groups = {key: [one for one in self._found if (one.role, one.name) == key] for key in keys}
        return [_clash(role, name, group) for (role, name), group in groups.items() if len(group) > 1]

    def _of(self, role: str) -> list[RegisteredPlugin]:
        return [one for one in self._found if one.role == role]

    def _named(self, role: str, name: str) -> type[Any]:
        return self._find(role, name).cls

    def _called(self, role: str, name: str) -> list[RegisteredPlugin]:
        name = trimmed(name)
        offered = self._of(role)
        return [one for one in offered if one.name == name] or [one for one in offered if name in one.aliases]

    def _find(self, role: str, name: str, *instead: str) -> RegisteredPlugin:
        """The plugin of this name; the error lists those of roles that would do `instead`, too."""
        offered = [one for each in (role, *instead) for one in self._of(each)]
        known = [text for one in offered for text in (one.name, *one.aliases)]
        return self._single(role, name, self._called(role, name), known, instead)

    def _only(self, role: str) -> type[Any]:
        offered = self._of(role)
        if len(offered) > 1:
            raise PluginError(f"several {role}s are installed, name one: {', '.join(self.names(role))}")
        if not offered:
            raise PluginError(f"no {role} is installed. {_remedy(_USUAL[role], ())}{self._broken()}")
        return offered[0].cls

    def _single(
        self,
        role: str,
        name: str,
        matches: list[RegisteredPlugin],
        known: Iterable[str],
        instead: Iterable[str] = (),
    ) -> RegisteredPlugin:
        if len(matches) > 1:
            raise PluginError(_clash(role, name, matches))
        if matches:
            return matches[0]
        installed = ", ".join(one for each in (role, *instead) for one in self.names(each)) or "none"
        raise PluginError(f"no {role} {name!r}; installed: {installed}. {_remedy(name, known)}{self._broken()}")

    def _broken(self) -> str:
        shown = "; ".join(f"{one.distribution} ({one.entry_point}): {one.reason}" for one in self.failures)
        return f" Not working: {shown}" if shown else ""


def _default_text(key: Key) -> str:
    if key.default is REQUIRED:
        return "required"
    # A default that was parsed into an object of the plugin's own is in its doc.
    return str(key.default) if isinstance(key.default, str | int | float) else ""


def _instantiate(one: RegisteredPlugin) -> Any:
    made = one.cls
    try:
        return made()
    except Exception as error:
        raise PluginError(
            f"{one.role} {one.name!r} of {one.source.distribution} cannot be made without arguments: {one_line(error)}"
        ) from error


def _spellings(one: RegisteredPlugin) -> tuple[str, ...]:
    return one.name, one.class_name.rpartition(":")[2].rpartition(".")[2], one.class_name, *one.aliases


def _class_name(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _clash(role: str, name: str, group: Iterable[RegisteredPlugin]) -> str:
    owners = " and ".join(f"{one.source.distribution} {one.source.version}" for one in group)
    return f"{role} {name!r} is offered by {owners}: uninstall one of them"


_EXTRAS = {
    "avro": "eosfw-schema-registry[avro]",
    "AvroConverter": "eosfw-schema-registry[avro]",
    "io.confluent.connect.avro.AvroConverter": "eosfw-schema-registry[avro]",
}
"""What brings parts whose names are those of no extra of eosfw."""


_USUAL = {"cluster": "memory", "step engine": "spark", "REST interface": "rest"}
"""The extra that brings the plugin of a role that most use."""


def _remedy(name: str, known: Iterable[str]) -> str:
    if name in _EXTRAS:
        return f"Try: pip install '{_EXTRAS[name]}'."
    near = nearest(name, known)
    if near:
        return f"Did you mean {near!r}?"
    if name in extras():
        return f"Try: pip install 'eosfw[{name}]'."
    # A distribution of a guessed name might be anything on the package index.
    return "Correct the name, or install the distribution that brings it; `eosfw plugins` lists what is there."
