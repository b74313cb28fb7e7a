"""The console of a run: the pages of a worker group's console, beside a worker that is alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, Self

from eosfw.concurrency import Runtime
from eosfw.config import Config
from eosfw.config.parts import REST_EXTENSIONS
from eosfw.errors import ConfigError, Problem
from eosfw.loopback import is_loopback
from eosfw.observe import Announcer
from eosfw.pipeline.definition.model import Pipeline
from eosfw.pipeline.definition.step_order import in_order
from eosfw.protocols import Observer, QueryProgress, RestExtension, RestServer, Step
from eosfw.protocols.herder import StreamingQueryInfo
from eosfw.registry import Plugins, parts
from eosfw.runtime import Worker, worker_config
from eosfw.runtime.hosting.thread_launcher import LauncherFactory
from eosfw.runtime.standalone.active_topics import ActiveTopicsRecorder
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
        self._topics = ActiveTopicsRecorder()
        self.progress: Callable[[], Mapping[str, QueryProgress]] = dict
        """How far the streaming steps are, by name; set before the run begins."""
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

    def listening(self, launcher: LauncherFactory) -> LauncherFactory:
        """The same launcher, of tasks of which this console hears to what topics they write."""
        return lambda services: launcher(replace(services, listener=self._topics))

    def serve(self, worker: Worker, config: Config, plugins: Plugins, pipeline: Pipeline) -> None:
        """Show this worker, which runs a pipeline, from now on."""
        steps = [step for step in in_order(pipeline.steps) if step.streaming]
        run = RunDescription(pipeline.path.name, self._rest.url, self._topics, lambda: self._queries(steps))
        self._rest.serve(StandaloneHerder(worker, config, plugins, run), self._extensions)

    def _queries(self, steps: Sequence[Step]) -> list[StreamingQueryInfo]:
        progress = self.progress()
        return [
            StreamingQueryInfo(
                step=step.name,
                topics=sorted({one.topic for one in step.inputs}),
                output=f"{step.output_format} {step.output}".rstrip(),
                output_topic=step.output if step.output_format == "topic" else None,
                progress=progress.get(step.name),
            )
            for step in steps
        ]

    def close(self) -> None:
        """Serve no more; it may come twice."""
        self._rest.close()


def _require_loopback(address: str) -> None:
    host = address.rpartition(":")[0].strip("[]")
    if not host:
        raise ConfigError(Problem(_OPTION, f"{address!r} is not written HOST:PORT"))
    if not is_loopback(host):
        what = f"{host} is not loopback, and a run asks nobody who they are: write 127.0.0.1:PORT"
        raise ConfigError(Problem(_OPTION, what))
