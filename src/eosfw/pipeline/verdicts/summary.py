"""The summary of a run, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from eosfw.errors import ExitCode
from eosfw.pipeline.definition.model import Verification
from eosfw.runtime import PollFailures
from eosfw.text import quantity


@dataclass(frozen=True, slots=True)
class StepResult:
    """How many rows a step wrote, and where."""

    rows: int
    """Of a streaming step those that it read, since a sink need not say how many it wrote."""
    output: str
    streaming: bool = False

    def __str__(self) -> str:
        if self.streaming:
            return f"{quantity(self.rows, 'new row')} read, into {self.output}"
        return f"{quantity(self.rows, 'row')} in {self.output}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run did; `duplicates` and `missing` are None when not verified, never 0."""

    records: int
    """Committed task records of this run."""
    transactions: int
    """Committed task transactions of this run."""
    zombies_fenced: int
    """Old producers that themselves received a fencing error."""
    rows_out: int
    duplicates: int | None
    missing: int | None
    seconds: float
    steps: Mapping[str, StepResult] = field(default_factory=dict)
    notices: Sequence[str] = ()
    verify: str = Verification.TRY.value
    """The verification that applied: `required`, `try` or `off`."""
    unverified: Sequence[str] = ()
    """Why it was not verified."""
    examples: Sequence[str] = ()
    """Some of the duplicated or missing identities."""
    poll_failures: Mapping[str, PollFailures] = field(default_factory=dict)
    """By task: polls that failed and were repeated."""
    kept: bool = True
    """Whether the cluster, with its topics, outlives the run."""

    @property
    def verified(self) -> bool:
        """Whether records were counted."""
        return self.duplicates is not None and self.missing is not None

    @property
    def passed(self) -> bool:
        """No duplicate and nothing missing was found; a verification that was required has taken place."""
        required = self.verify == Verification.REQUIRED.value
        return not self.duplicates and not self.missing and (self.verified or not required)

    @property
    def exit_code(self) -> ExitCode:
        """What a command that ends with this summary exits with."""
        return ExitCode.OK if self.passed else ExitCode.VERDICT_FAILED

    def as_json(self) -> dict[str, Any]:
        """The summary as one JSON object."""
        return {**asdict(self), "seconds": round(self.seconds, 3), "passed": self.passed}

    def as_text(self) -> str:
        """The summary for people."""
        committed = f"{quantity(self.records, 'record')} committed in {quantity(self.transactions, 'transaction')}"
        lines = [f"{committed}, {quantity(self.zombies_fenced, 'zombie')} fenced, {self.seconds:.1f} s"]
        lines += [f"step {name}: {one}" for name, one in self.steps.items()]
        lines += self._verdict()
        lines += self.notices
        lines += [f"task {task}: {failures}" for task, failures in self.poll_failures.items()]
        if not self.kept:
            lines.append("the embedded broker kept everything in memory: topics and offsets are gone with this run")
        return "\n".join(lines)

    def _verdict(self) -> list[str]:
        if self.duplicates is None or self.missing is None:
            required = ", though that was required" if self.verify == Verification.REQUIRED.value else ""
            return [f"not verified{required}" + "".join(f"; {why}" for why in self.unverified)]
        verdict = f"verified: {quantity(self.duplicates, 'duplicate')}, {self.missing:,} missing"
        return [verdict, *(f"  {example}" for example in self.examples)]
