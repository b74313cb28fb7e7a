"""One run of a tap: its process, behind the discovery of its catalog if that is needed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from eosfw.errors import DamagedDataError, RetriableError
from eosfw_singer.catalog import with_choices
from eosfw_singer.messages import NoMessageError, message_of
from eosfw_singer.process import TapProcess
from eosfw_singer.secrets import masker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from eosfw.config import Config
    from eosfw_singer.messages import Message


class Tap:
    """Runs a tap from a STATE on; `lines` gives what it writes until it has ended well."""

    def __init__(self, config: Config, state: Any, clock: Callable[[], float]) -> None:
        self._config, self._state = config, state
        self._clock = clock
        self._quiet_since: float | None = None
        self._mask = masker(config["tap.config"])
        self._process: TapProcess | None = None
        self._catalog: list[bytes] | None = None
        """What the tap has written of the catalog that it discovers."""

    def lines(self, timeout: float) -> Sequence[bytes] | None:
        """The next lines of its messages, waiting for at most so many seconds; None once it has ended well.

        RetriableError if it has ended otherwise.
        """
        if self._process is None:
            self._start()
        assert self._process is not None, "started"
        found = self._process.read(timeout)
        self._refuse_silence(self._process)
        if found is None:
            return self._next()
        if self._catalog is None:
            return found
        self._catalog += found
        return ()

    def kill(self) -> None:
        """End it, whatever it does."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _refuse_silence(self, process: TapProcess) -> None:
        """End a tap that has written nothing for too long: it may wait for what never comes."""
        now, most = self._clock(), self._config["tap.idle.timeout.ms"] / 1000
        if process.wrote or self._quiet_since is None:
            self._quiet_since = now
        elif most and now - self._quiet_since > most:
            raise RetriableError(
                f"tap.command: {process.name} has written nothing for {most:g} s, neither rows nor a log, so it is "
                f"ended: set tap.idle.timeout.ms higher if it needs longer"
            )

    def _start(self) -> None:
        config = self._config
        chosen = config["streams"], config["replication.keys"], config["full.table.streams"]
        if config["catalog"] is None and any(chosen):
            self._catalog = []
            self._run({"--discover": None})
        else:
            self._run(self._options(config["catalog"]))

    def _options(self, catalog: Any) -> dict[str, Any]:
        config, options = self._config, {}
        chosen = config["streams"], dict(config["replication.keys"]), config["full.table.streams"]
        if catalog is not None:
            options[config["catalog.option"]] = with_choices(catalog, *chosen)
        if self._state is not None:
            options["--state"] = self._state
        return options

    def _run(self, options: dict[str, Any]) -> None:
        config = self._config
        self._process = TapProcess(
            config["tap.command"], {"--config": config["tap.config"], **options}, config["line.max.bytes"], self._mask
        )

    def _next(self) -> Sequence[bytes] | None:
        """What follows a process that has ended: an error, the run behind a discovery, or nothing."""
        process = self._process
        assert process is not None, "it has ended"
        status, name, error = process.status(), process.name, process.last_error
        self.kill()
        if status:
            how = f"with status {status}" if status < 128 else f"by signal {status - 128}"
            raise RetriableError(
                f"tap.command: {name} ended {how}{f' and {error}' if error else ''}; what it wrote to stderr is logged "
                f"at level INFO by eosfw_singer.process: see it with eosfw --debug, or set the level of that logger"
            )
        if self._catalog is None:
            return None
        text, self._catalog = b"\n".join(self._catalog), None
        try:
            catalog = json.loads(text)
        except ValueError:
            raise DamagedDataError(
                f"{name} wrote no JSON when it was asked for its catalog (--discover): give it by the property catalog"
            ) from None
        self._run(self._options(catalog))
        return ()


class MessageReader:
    """Reads lines as messages, and reports or refuses those that are none."""

    def __init__(self, name: str, *, exact_numbers: bool, skipped: Callable[[str, str, int], None] | None) -> None:
        """`skipped` takes a notice about a line that is skipped; None fails the task."""
        self._name, self._exact, self._skipped = name, exact_numbers, skipped
        self._number = 0

    def messages(self, lines: Sequence[bytes]) -> Iterator[tuple[Message, int]]:
        """The message of each line, with the line's bytes."""
        for line in lines:
            self._number += 1
            if not line.strip():
                continue
            try:
                message = message_of(line, exact_numbers=self._exact)
            except NoMessageError as why:
                self._refuse(line, why)
            else:
                yield message, len(line)

    def _refuse(self, line: bytes, why: NoMessageError) -> None:
        what = f"line {self._number} of {self._name} on stdout ({len(line)} bytes) is no message of Singer: {why}"
        if self._skipped is None:
            raise DamagedDataError(f"{what}; have the tap log to stderr, or set malformed = skip")
        self._skipped("malformed line", f"{what}; skipped", 1)
