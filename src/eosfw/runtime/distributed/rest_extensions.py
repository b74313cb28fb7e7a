"""The REST extensions of one worker, which may hear of its steps as well."""

from __future__ import annotations

from contextlib import ExitStack

from eosfw.config import Config
from eosfw.observe import Announcer
from eosfw.protocols import Observer, RestExtension
from eosfw.registry import Plugins, parts
from eosfw.state.steps import Announce, StepEvent


class WorkerRestExtensions:
    """Made before the first step is announced, registered by the REST interface once the worker is ready."""

    def __init__(self, config: Config, plugins: Plugins, announce: Announce) -> None:
        self._config, self._plugins, self._announce = config, plugins, announce
        self._to_extensions = Announcer()
        self.all: list[RestExtension] = []

    def start(self) -> None:
        """Make those that the worker's properties choose; ConfigError if properties of theirs do not fit."""
        self.all = parts.rest_extensions(self._plugins, self._config)
        self._to_extensions = Announcer(one for one in self.all if isinstance(one, Observer))

    def announce(self, event: StepEvent) -> None:
        """Announce a step to the worker's observers, then to the extensions that are observers."""
        self._announce(event)
        self._to_extensions(event)

    def close(self) -> None:
        """Close the extensions; the REST interface may have done so."""
        with ExitStack() as closing:
            for one in self.all:
                closing.callback(one.close)
