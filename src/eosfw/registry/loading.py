"""Loading of plugins one by one, so that a broken one is named and the others work."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import pluggy

from eosfw import hookspecs
from eosfw.concurrency import Runtime, ThreadRuntime
from eosfw.config.definition.config_def import nearest
from eosfw.distributions import InstalledEntryPoint, installed_entry_points
from eosfw.errors import PluginError, one_line, place_of
from eosfw.hookspecs import PluginDesc
from eosfw.registry.checks import ROLES, contract_problem
from eosfw.registry.load_timeout import LOAD_TIMEOUT, call_with_timeout
from eosfw.registry.lookup import PluginFailure, Plugins, PluginSource, RegisteredPlugin

GROUP = "eosfw"


def load_plugins(
    entry_points: Iterable[InstalledEntryPoint] | None = None,
    *,
    timeout: float = LOAD_TIMEOUT,
    runtime: Runtime | None = None,
) -> Plugins:
    """Load every plugin on its own; the failure of one is kept and does not affect the others.

    One that does not answer within `timeout` seconds, each time it is called, counts as broken.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    loader = _Loader(manager, lambda call: call_with_timeout(timeout, call, runtime or ThreadRuntime()))
    if entry_points is None:
        entry_points, unreadable = installed_entry_points(GROUP)
        loader.failures += [PluginFailure(one.name, "?", one.reason) for one in unreadable]
    for entry_point in entry_points:
        loader.load(entry_point)
    return Plugins(loader.found(), loader.failures)


class _Loader:
    """Loads entry points one by one, then calls hook implementations one by one."""

    def __init__(self, manager: pluggy.PluginManager, bounded: Callable[[Callable[[], Any]], Any]) -> None:
        self._manager, self._bounded = manager, bounded
        self._sources: dict[str, PluginSource] = {}
        self.failures: list[PluginFailure] = []

    def load(self, entry_point: InstalledEntryPoint) -> None:
        """Import and register one plugin."""
        source = PluginSource(entry_point.dist.name, entry_point.dist.version, entry_point.name)
        key = f"{source.distribution}:{source.entry_point}"
        module = self._guarded(source, lambda: self._bounded(entry_point.load))
        if module is None or self._guarded(source, lambda: self._register(module, key)) is None:
            return
        self._sources[key] = source
        for name in _misnamed_hooks(self._manager, module):
            near = nearest(name, _hook_names())
            self._fail(source, f"there is no hook {name!r}" + (f"; did you mean {near!r}?" if near else ""))

    def found(self) -> list[RegisteredPlugin]:
        """Call every hook implementation for its classes."""
        return [one for role, spec in ROLES.items() for one in self._offered(role, spec.hook)]

    def _offered(self, role: str, hook: str) -> Iterable[RegisteredPlugin]:
        seen: set[type[Any] | PluginDesc] = set()
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            source = self._sources[implementation.plugin_name]
            for cls in self._classes(source, implementation.function):
                reason = None if isinstance(cls, PluginDesc) else contract_problem(role, cls)
                if reason is not None:
                    self._fail(source, reason)
                elif cls not in seen:
                    seen.add(cls)
                    yield RegisteredPlugin(role, cls, source)

    def _classes(self, source: PluginSource, hook: Callable[[], Iterable[Any]]) -> list[type[Any] | PluginDesc]:
        classes: list[type[Any] | PluginDesc] | None = self._guarded(
            source, lambda: self._bounded(lambda: _called(hook))
        )
        return classes or []

    def _register(self, module: Any, key: str) -> str | None:
        wanted = getattr(module, "eosfw_api", hookspecs.API)
        if wanted != hookspecs.API:
            raise PluginError(
                f"it is written for version {wanted!r} of the plugin interface; this eosfw has {hookspecs.API}: "
                f"install versions of the two that fit"
            )
        try:
            return self._manager.register(module, name=key)
        except pluggy.PluginValidationError:
            # pluggy keeps the hooks that it had registered before it met the wrong one.
            self._manager.unregister(name=key)
            raise

    def _guarded(self, source: PluginSource, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (a plugin may even call sys.exit when imported)
            self._fail(source, one_line(error) + place_of(error, _is_machinery))
            return None

    def _fail(self, source: PluginSource, reason: str) -> None:
        self.failures.append(PluginFailure(source.distribution, source.entry_point, reason))


def _called(hook: Callable[[], Any]) -> list[Any]:
    returned = hook()
    if not isinstance(returned, Iterable):
        name = getattr(hook, "__name__", "a hook")
        raise PluginError(f"{name} returned a {type(returned).__name__}; it must return a list of classes")
    return list(returned)


def _is_machinery(frame: FrameType) -> bool:
    """Whether a frame is of eosfw, pluggy or the import system, not of a plugin."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _MACHINERY


_MACHINERY = {"eosfw", "pluggy", "importlib", "_frozen_importlib", "_frozen_importlib_external"}


def _hook_names() -> list[str]:
    return [spec.hook for spec in ROLES.values()]


def _misnamed_hooks(manager: pluggy.PluginManager, module: Any) -> list[str]:
    known = set(_hook_names())
    return [name for name in dir(module) if name not in known and manager.parse_hookimpl_opts(module, name) is not None]
