"""Creation of the transformations and converters that a connector and its worker choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from eosfw.closeables import Closeable, run_all
from eosfw.config import Config
from eosfw.config.connector.transforms import (
    PREDICATES,
    TRANSFORMS,
    TransformationChoice,
    chosen_part,
    chosen_predicate,
    chosen_transformations,
    transforms_problems,
)
from eosfw.config.parts import (
    CONVERTER_TYPE,
    CONVERTERS,
    HEADER_CONVERTER,
    KEY_CONVERTER,
    PLUGIN_VERSION,
    VALUE_CONVERTER,
    Configurable,
    PartChoice,
    chosen,
    without_choice,
)
from eosfw.config.secrets import secret_values
from eosfw.errors import PluginError, Problem
from eosfw.plugin_metrics import Monitorable, PluginMetrics
from eosfw.protocols import Converter, HeaderConverter, Predicate, Transformation
from eosfw.registry.lookup import Plugins
from eosfw.registry.parts import problems_of
from eosfw.registry.plugin_versions import refuse_other_version

_AnyConverter = TypeVar("_AnyConverter")
DEFAULT_HEADER_CONVERTER = "simple"


@dataclass(frozen=True, slots=True)
class TransformationStage:
    """A transformation with the predicate that chooses its records (Kafka Connect's `TransformationStage`)."""

    alias: str
    transformation: Transformation
    predicate: Predicate | None = None
    negate: bool = False


@dataclass(frozen=True, slots=True)
class RecordParts:
    """What changes the records of one task on their way: transformations, then converters."""

    stages: tuple[TransformationStage, ...] = ()
    key_converter: Converter | None = None
    value_converter: Converter | None = None
    header_converter: HeaderConverter | Converter | None = None
    schema_header_converter: HeaderConverter | None = None
    """What writes headers that state a schema where no header converter is chosen: Kafka Connect's default."""

    def register_metrics(self, metrics_of: Callable[[str], PluginMetrics]) -> None:
        """Have the parts register their metrics, each by the property that chose it."""
        for chosen_by, part in self._parts():
            if isinstance(part, Monitorable):
                part.with_plugin_metrics(metrics_of(chosen_by))

    def close(self) -> None:
        """Close what can be closed."""
        run_all(*(part.close for _, part in self._parts() if isinstance(part, Closeable)))

    def _parts(self) -> Iterator[tuple[str, object]]:
        yield from zip(CONVERTERS, (self.key_converter, self.value_converter, self.header_converter), strict=True)
        for stage in self.stages:
            yield f"{TRANSFORMS}.{stage.alias}", stage.transformation
            # A predicate that several transformations have is one object for each of them.
            yield f"{TRANSFORMS}.{stage.alias}.predicate", stage.predicate


def record_parts(plugins: Plugins, worker: Config, connector: Config) -> RecordParts | None:
    """The parts for one task, the caller closes them; None if there are none. ConfigError if properties do not fit."""
    stages = tuple(_stage(plugins, choice, connector) for choice in chosen_transformations(connector))
    key, value = (_converter(plugins, chosen(one, worker, connector)) for one in (KEY_CONVERTER, VALUE_CONVERTER))
    header = _header_converter(plugins, chosen(HEADER_CONVERTER, worker, connector))
    if not stages and key is value is header is None:
        return None
    return RecordParts(stages, key, value, header, _default_header_converter(plugins) if header is None else None)


def record_part_problems(plugins: Plugins, worker: Config, connector: Config) -> list[Problem]:
    """What is wrong with the transformations, predicates and converters of a connector."""
    problems = transforms_problems(connector)
    problems += [problem for key in CONVERTERS for problem in without_choice(key, connector)]
    if not problems:
        problems += [problem for check in _checks(plugins, worker, connector) for problem in problems_of(*check)]
    return problems


def record_part_secrets(plugins: Plugins, worker: Config, connector: Config) -> set[str]:
    """The passwords among the properties of a connector's transformations, predicates and converters."""
    found: set[str] = set()
    for choice, find in _choices(plugins, worker, connector):
        if choice.name is None or not choice.properties:
            continue  # each start of a task asks, and most choose no part, or give it no properties
        with suppress(PluginError):  # validation says so
            part = find(choice.name)
            if isinstance(part, Configurable):
                found |= secret_values(choice.properties, part.config)
    return found


def _choices(
    plugins: Plugins, worker: Config, connector: Config
) -> Iterator[tuple[PartChoice, Callable[[str], object]]]:
    for role, find in ((TRANSFORMS, plugins.transformation), (PREDICATES, plugins.predicate)):
        yield from ((chosen_part(role, alias, connector.given), find) for alias in connector[role])
    for key in CONVERTERS:
        yield chosen(key, worker, connector), plugins.header_converter if key == HEADER_CONVERTER else plugins.converter


def worker_converter_problems(plugins: Plugins, worker: Config) -> list[Problem]:
    """What is wrong with the converters that a worker chooses for its connectors."""
    problems = [problem for key in CONVERTERS for problem in _unchosen(chosen(key, worker))]
    for key in CONVERTERS:
        problems += problems_of(key, partial(_MAKERS[key], plugins, chosen(key, worker)))
    return problems


def _unchosen(choice: PartChoice) -> list[Problem]:
    if choice.name is not None:
        return []
    names = [*choice.properties, *([] if choice.version is None else [PLUGIN_VERSION])]
    return [Problem("", f"{choice.key}.{name} is for a converter: say {choice.key}, too") for name in names]


def _checks(plugins: Plugins, worker: Config, connector: Config) -> Iterator[tuple[str, Callable[[], Any]]]:
    for transformation in chosen_transformations(connector):
        yield f"{transformation.part.key}.type", partial(_transformation, plugins, transformation)
    for alias in connector[PREDICATES]:
        yield f"{PREDICATES}.{alias}.type", partial(_predicate, plugins, alias, connector)
    for key in CONVERTERS:
        if connector[key] is not None:
            yield key, partial(_MAKERS[key], plugins, chosen(key, worker, connector))


def _stage(plugins: Plugins, choice: TransformationChoice, connector: Config) -> TransformationStage:
    predicate = None if choice.predicate is None else _predicate(plugins, choice.predicate, connector)
    alias = choice.part.key.partition(".")[2]
    return TransformationStage(alias, _transformation(plugins, choice), predicate, choice.negate)


def _transformation(plugins: Plugins, choice: TransformationChoice) -> Transformation:
    transformation = plugins.transformation(choice.part.name or "")
    refuse_other_version(plugins, choice.part, transformation)
    return choice.part.configured(transformation)


def _predicate(plugins: Plugins, alias: str, connector: Config) -> Predicate:
    choice = chosen_predicate(alias, connector)
    predicate = plugins.predicate(choice.name or "")
    refuse_other_version(plugins, choice, predicate)
    return choice.configured(predicate)


_TYPES = {KEY_CONVERTER: "key", VALUE_CONVERTER: "value", HEADER_CONVERTER: "header"}


def _converter(plugins: Plugins, choice: PartChoice) -> Converter | None:
    return None if choice.name is None else _configured(plugins, choice, plugins.converter(choice.name))


def _header_converter(plugins: Plugins, choice: PartChoice) -> HeaderConverter | Converter | None:
    return None if choice.name is None else _configured(plugins, choice, plugins.header_converter(choice.name))


def _default_header_converter(plugins: Plugins) -> HeaderConverter | None:
    made = plugins.header_converter(DEFAULT_HEADER_CONVERTER)
    return made if isinstance(made, HeaderConverter) else None


def _configured(plugins: Plugins, choice: PartChoice, converter: _AnyConverter) -> _AnyConverter:
    refuse_other_version(plugins, choice, converter)
    if isinstance(converter, Configurable) and CONVERTER_TYPE in converter.config.keys:
        choice = PartChoice(choice.key, choice.name, {**choice.properties, CONVERTER_TYPE: _TYPES[choice.key]})
    return choice.configured(converter)


_MAKERS: Mapping[str, Callable[[Plugins, PartChoice], object]] = {
    KEY_CONVERTER: _converter,
    VALUE_CONVERTER: _converter,
    HEADER_CONVERTER: _header_converter,
}
