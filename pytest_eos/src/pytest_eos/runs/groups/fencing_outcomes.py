"""What came of the fencings of a test's leaders, by what their fencers said."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from eosfw.errors import EosfwError, IndefiniteOutcomeError, RetriableError
from eosfw.observe import StepEvent, TaskStep
from eosfw.protocols import Fencer
from pytest_eos.runs.groups.provenance import current_step


class FencingOutcomes:
    """The outcome of each fencing: `ok`, `fail` where it was refused, `info` where the next one may succeed."""

    def __init__(self) -> None:
        self._of: dict[int, str] = {}
        """By the identity of the event at which it began."""

    def outcome(self, begun: StepEvent) -> str | None:
        """What came of the fencing that began at this event; None as long as it has not ended."""
        return self._of.get(id(begun))

    def record_fencer(self, kind: type[Fencer]) -> type[Fencer]:
        """A fencer whose outcomes are recorded."""

        def fence(
            fencer: Fencer, transactional_ids: Collection[str], timeout: float
        ) -> Mapping[str, EosfwError | None]:
            try:
                outcomes = kind.fence(fencer, transactional_ids, timeout)
            except Exception as why:
                self._ended([why])
                raise
            self._ended([error for error in outcomes.values() if error is not None])
            return outcomes

        made: type[Fencer] = type(kind.__name__, (kind,), {"fence": fence})
        return made

    def _ended(self, errors: Sequence[Exception]) -> None:
        begun = current_step()
        if begun is not None and begun.step is TaskStep.FENCE_ZOMBIES:
            passing = all(isinstance(error, RetriableError | IndefiniteOutcomeError) for error in errors)
            self._of[id(begun)] = "ok" if not errors else "info" if passing else "fail"
