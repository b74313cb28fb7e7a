"""The console as an extension of the REST interface (KIP-285)."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar, Final

from eosfw.config import Boolean, Config, ConfigDef
from eosfw.observe import StepEvent
from eosfw.protocols import RestExtensionContext
from eosfw_console.recent_steps import RecentSteps

if TYPE_CHECKING:
    from eosfw_console.live import LiveStreams

_READ_ONLY: Final = "read.only"


class Console:
    """Serves pages for operators at `/ui`; `rest.extension.classes=console` chooses it."""

    name: ClassVar[str] = "console"
    config: ClassVar[ConfigDef] = ConfigDef(
        Boolean(_READ_ONLY, default=False, doc="Whether the console shows the group without buttons that change it.")
    )

    def __init__(self) -> None:
        self._read_only = False
        self._live: LiveStreams | None = None
        self._steps = RecentSteps()

    def configure(self, config: Config) -> None:
        """Take the properties under `rest.extension.classes.console.`."""
        self._read_only = bool(config[_READ_ONLY])

    def register(self, context: RestExtensionContext) -> None:
        """Add the pages."""
        # Every command loads this class, but few serve pages.
        from eosfw_console.application import ConsoleApplication
        from eosfw_console.live import LiveStreams

        self._live = LiveStreams()
        context.routes.extend(
            ConsoleApplication(context.rest, self._live, self._steps, read_only=self._read_only).routes()
        )

    def observe(self, event: StepEvent) -> None:
        """Keep a step of this worker for the timeline."""
        self._steps.observe(event)

    def version(self) -> str:
        """The version of the distribution."""
        return version("eosfw-console")

    def close(self) -> None:
        """End the streams that pages listen to."""
        if self._live is not None:
            self._live.close()
