"""Checks that a class of a plugin keeps the contract of its role."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eosfw import protocols
from eosfw.config.definition.config_def import ConfigDef
from eosfw.config.parts import Aliased
from eosfw.connectors import AltersOffsets, CommitsRecords, SourceConnector, SourceTask
from eosfw.hookspecs import PluginDesc


@dataclass(frozen=True, slots=True)
class Role:
    """One kind of plugin: its hook, and the contract of its classes."""

    hook: str
    contract: type[Any]


ROLES = {
    "backend": Role("eosfw_backends", protocols.Backend),
    "cluster": Role("eosfw_clusters", protocols.LocalCluster),
    "offset store": Role("eosfw_offset_stores", protocols.OffsetStore),
    "fencer": Role("eosfw_fencers", protocols.Fencer),
    "isolation reader": Role("eosfw_isolation_readers", protocols.IsolationReader),
    "connector": Role("eosfw_connectors", SourceConnector),
    "transformation": Role("eosfw_transforms", protocols.Transformation),
    "predicate": Role("eosfw_predicates", protocols.Predicate),
    "converter": Role("eosfw_converters", protocols.Converter),
    "header converter": Role("eosfw_header_converters", protocols.HeaderConverter),
    "REST interface": Role("eosfw_rest_servers", protocols.RestServer),
    "REST extension": Role("eosfw_rest_extensions", protocols.RestExtension),
    "client config override policy": Role(
        "eosfw_client_config_override_policies", protocols.ClientConfigOverridePolicy
    ),
    "metrics reporter": Role("eosfw_metrics_reporters", protocols.MetricsReporter),
    "config provider": Role("eosfw_config_providers", protocols.ConfigProvider),
    "step engine": Role("eosfw_step_engines", protocols.StepEngine),
    "observer": Role("eosfw_observers", protocols.Observer),
}
_MAY_BE_CONFIGURED = (
    "offset store",
    "fencer",
    "isolation reader",
    "transformation",
    "predicate",
    "converter",
    "header converter",
    "config provider",
    "REST extension",
    "metrics reporter",
    "client config override policy",
)


def contract_problem(role: str, offered: object) -> str | None:
    """How a class breaks the contract of its role; None if it keeps it."""
    contract = ROLES[role].contract
    if not inspect.isclass(offered):
        return f"{role}: {offered!r} is not a class"
    shown = f"{role} {offered.__name__}"
    name = getattr(offered, "name", None)
    if not isinstance(name, str) or not name:
        return f"{shown} has no `name`"
    missing = _connector_faults(offered) if contract is SourceConnector else _missing(contract, offered)
    if role in _MAY_BE_CONFIGURED:
        missing = [*missing, *_undefined_properties(offered)]
    return f"{shown} does not keep {contract.__name__}: {', '.join(missing)}" if missing else None


def description_problem(described: PluginDesc, found: type[Any]) -> str | None:
    """How a description differs from the class that it describes; None if it does not."""
    aliases = tuple(found.aliases) if isinstance(found, Aliased) else ()
    stated = (("name", described.name, found.name), ("aliases", described.aliases, aliases))
    for what, told, own in stated:
        if told != own:
            return f"its `{what}` is {own!r}, but its PluginDesc says {told!r}: write the same in both places"
    return None


def _missing(contract: type[Any], offered: type[Any]) -> list[str]:
    return [*_missing_methods(contract, offered), *_missing_class_attributes(contract, offered)]


def _missing_methods(contract: type[Any], offered: type[Any]) -> Iterable[str]:
    for name, promised in vars(contract).items():
        if name.startswith("_") or not (inspect.isfunction(promised) or isinstance(promised, classmethod)):
            continue
        found = inspect.getattr_static(offered, name, None)
        if found is None:
            yield f"`{name}()` is missing"
        elif not callable(getattr(offered, name)):
            yield f"`{name}` is not a method"
        elif isinstance(promised, classmethod) and not isinstance(found, classmethod | staticmethod):
            yield f"`{name}()` is not a class method"


def _missing_class_attributes(contract: type[Any], offered: type[Any]) -> Iterable[str]:
    # Only attributes of the class can be checked; those of instances do not exist yet.
    for name, hint in contract.__annotations__.items():
        if "ClassVar" in str(hint) and not hasattr(offered, name):
            yield f"`{name}` is missing"


def _undefined_properties(offered: type[Any]) -> Iterable[str]:
    """The problem of a class that has `configure`, but no definition of its properties."""
    if inspect.getattr_static(offered, "configure", None) is None:
        return
    if not isinstance(inspect.getattr_static(offered, "config", None), ConfigDef):
        yield "it has `configure()`, but `config` is not a ConfigDef that says which properties"


def _connector_faults(offered: type[Any]) -> list[str]:
    if not issubclass(offered, SourceConnector):
        return ["it is not a subclass"]
    faults = []
    task = getattr(offered, "task", None)
    if not (inspect.isclass(task) and issubclass(task, SourceTask)):
        faults.append("`task` is not a subclass of SourceTask")
    elif task.poll is SourceTask.poll:
        faults.append(f"`{task.__name__}.poll()` is missing")
    if not isinstance(getattr(offered, "config", None), ConfigDef):
        faults.append("`config` is not a ConfigDef")
    if offered.task_configs is SourceConnector.task_configs:
        faults.append("`task_configs()` is missing")
    faults += _never_awaited(offered, {*vars(SourceConnector), *vars(AltersOffsets)})
    if inspect.isclass(task):
        faults += _never_awaited(task, {*vars(SourceTask), *vars(CommitsRecords)})
    return faults


def _never_awaited(offered: type[Any], called: Iterable[str]) -> Iterable[str]:
    """The methods of an author that are `async def`: calling one does nothing, and an `at_end` would always be true."""
    for name in sorted(called):
        found = getattr(offered, name, None)
        if inspect.iscoroutinefunction(found) or inspect.isasyncgenfunction(found):
            yield (
                f"`{offered.__name__}.{name}()` is `async def`, and nobody awaits it: write `def`, and run coroutines "
                f"in it, say by an asyncio.Runner"
            )
