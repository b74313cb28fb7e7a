"""Find out what losing its producer means for a task (rulings 1 to 3)."""

from __future__ import annotations

from eosfw.errors import EosfwError, IndefiniteOutcomeError
from eosfw.runtime.board import TaskBoard
from eosfw.runtime.plan import Surroundings, TaskPlan
from eosfw.runtime.startup import superseded
from eosfw.state.loss import AfterLoss, after_loss
from eosfw.state.startup import standing
from eosfw.state.steps import TaskStep

REMEDIES = (
    "If its transaction ran longer than transaction.timeout.ms: raise `producer.override.transaction.timeout.ms`, "
    "shorten `transaction.boundary.interval.ms`, use `transaction.boundary=poll`, or tune the producer's throughput."
)


class Recovery:
    """Counts a task's losses within its generation, asks the config log what each means."""

    def __init__(self, plan: TaskPlan, around: Surroundings, board: TaskBoard) -> None:
        self._plan, self._around, self._board = plan, around, board
        self._losses = 0

    def check(self, error: EosfwError) -> None:
        """Return if the task may start over; SupersededError when a newer generation owns it, else the last straw."""
        plan, around = self._plan, self._around
        indefinite = isinstance(error, IndefiniteOutcomeError)
        if not indefinite:
            self._board.step(TaskStep.FENCED, error=str(error))
        with around.config_topic.reader() as reader:
            reader.read_to_end()
        seen = around.config_topic.entry(plan.id.connector)
        self._losses += 1
        assigned = around.membership.is_assigned(plan.id, plan.generation)
        verdict = after_loss(standing(seen, plan.generation, assigned=assigned), self._losses)
        if verdict is AfterLoss.STOP_SUPERSEDED:
            raise superseded(plan, seen) from error
        if verdict is AfterLoss.FAIL:
            raise type(error)(
                f"task {plan.id} lost its producer {self._losses} times within generation {plan.generation}: {error}. "
                f"{REMEDIES}"
            ) from error
        self._tell(error, indefinite=indefinite)
        self._board.open_records = 0

    def _tell(self, error: EosfwError, *, indefinite: bool) -> None:
        kind = "indefinite outcome" if indefinite else "fenced while owner"
        what = (
            "does not know whether its transaction committed" if indefinite else "lost its producer, yet owns its share"
        )
        remedies = "" if indefinite else f" {REMEDIES}"
        self._board.notice(
            kind, f"task {self._plan.id} {what} ({error}); it starts over from the committed offsets.{remedies}"
        )
