"""The console of a run: the pages of a worker group's console, beside a worker that is alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import ClassVar, Final, Self

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.parts import REST_EXTENSIONS
from eosfw.errors import ConfigError, Problem
from eosfw.observe import Announcer
from eosfw.protocols import Observer, RestExtension, RestServer
from eosfw.registry import Plugins, parts
from eosfw.runtime import Worker, worker_config
from eosfw.runtime.standalone.herder import RunDescription, StandaloneHerder
from eosfw.state.steps import StepEvent

_OPTION: Final = "--console"
_EXTENSION: Final = "console"
_MISSING: Final = "the console is a distribution of its own: pip install 'eosfw[console]'"


class RunConsole:
    """Serves the console's pages on loopback, read-only; it hears of each step of the run as an observer.

    It is opened before the run, which calls `serve` as soon as its worker is made, and `close` before it is closed.
    """

    name: ClassVar[str] = "console of a run"

    def __init__(self, rest: RestServer, extensions: Sequence[RestExtension]) -> None:
        self._rest, self._extensions = rest, extensions
        self._announce = Announcer(one for one in extensions if isinstance(one, Observer))

    @classmethod
    def open(cls, address: str, plugins: Plugins, runtime: Runtime) -> Self:
        """Listen to HOST:PORT; ConfigError if it is no address of loopback or taken, or no console is installed."""
        kind = plugins.rest_server()
        if kind is None or _EXTENSION not in plugins.names("REST extension"):
            raise ConfigError(Problem(_OPTION, _MISSING))
        _require_loopback(address)
        properties = {
            "group.id": "run",
            "listeners": f"http://{address}",
            REST_EXTENSIONS: _EXTENSION,
            f"{REST_EXTENSIONS}.{_EXTENSION}.read.only": "true",
        }
        config = worker_config(properties, kind, _OPTION, plugins)
        extensions = parts.rest_extensions(plugins, config)
        try:
            return cls(kind.start(config, runtime), extensions)
        except ConfigError as error:
            raise ConfigError(*(Problem(_OPTION, one.what) for one in error.problems)) from error

    @property
    def url(self) -> str:
        """Where the pages are."""
        return f"{self._rest.url}/ui"

    def observe(self, event: StepEvent) -> None:
        """Let the pages know of a step of the run."""
        self._announce(event)

    def serve(self, worker: Worker, config: Config, plugins: Plugins, name: str) -> None:
        """Show this worker, of the run of this name, from now on."""
        herder = StandaloneHerder(worker, config, plugins, RunDescription(name, self._rest.url))
        self._rest.serve(herder, self._extensions)

    def close(self) -> None:
        """Serve no more; it may come twice."""
        self._rest.close()


def _require_loopback(address: str) -> None:
    host = address.rpartition(":")[0].strip("[]")
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        what = f"{host} is not loopback, and a run asks nobody who they are: write 127.0.0.1:PORT"
        raise ConfigError(Problem(_OPTION, what))
