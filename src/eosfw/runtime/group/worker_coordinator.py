"""The place of a worker in its consumer group, on a thread of its own (Kafka Connect's `WorkerCoordinator`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from eosfw.concurrency import Event, Queue, Runtime, Spawned
from eosfw.errors import CommitFailedError, EosfwError, InconsistentGroupProtocolError, RetriableError, one_line
from eosfw.ids import TopicPartition
from eosfw.protocols import GroupAssignment, GroupConsumer

logger = logging.getLogger(__name__)

IDLE = 0.25
"""Seconds between two calls of the group's client while nothing happens."""
_JOINING = 0.1
"""Seconds that one call may wait for the group while a rebalance is under way."""
_BUSY = 0.01
_AFTER_ERROR = 1.0
_CLOSE_TIMEOUT = 5.0


@dataclass(frozen=True, slots=True)
class GroupTimeouts:
    """How long a worker may be silent, and how long a rebalance may take, in seconds."""

    session: float = 10.0
    rebalance: float = 60.0


class _Question:
    """Whether this worker is a member now: asked by another thread, answered by the coordinator's."""

    def __init__(self, answered: Event) -> None:
        self.answered = answered
        self.is_member = False


class WorkerCoordinator:
    """Owns the `GroupConsumer`: its thread makes every call of it. The methods are for other threads.

    Whether this worker is a member is an answer of the group's coordinator, never local memory. It is asked every third
    of the session timeout, and when somebody needs to know now.
    """

    def __init__(
        self,
        connect: Callable[[], GroupConsumer],
        partition: TopicPartition,
        timeouts: GroupTimeouts,
        runtime: Runtime,
        on_lost: Callable[[], None],
    ) -> None:
        self._connect, self._partition, self._timeouts, self._runtime = connect, partition, timeouts, runtime
        self._on_lost = on_lost
        """Called, on the coordinator's thread, once the group has gone on without this worker; must not block."""
        self._questions: Queue[_Question | None] = runtime.queue()
        self._waiting: list[_Question] = []
        self._found = GroupAssignment()
        self._confirmed_at: float | None = None
        """When the coordinator last said that this worker is a member; None while it is none."""
        self._unanswered: RetriableError | None = None
        """What the last question met instead of an answer."""
        self._closing = False
        self._renewing = False
        self._settled = runtime.event()
        """Set once the worker is a member, or has found that it cannot be one."""
        self._thread: Spawned | None = None
        self.term: int | None = None
        """Counts how often this worker was elected; None while it is not the leader."""
        self._terms = 0
        self.error: EosfwError | None = None
        """Why the worker is not in its group; None once it is."""
        self._other_kind_until: float | None = None
        """When members of another kind of group under this id are alive for sure; None while none are found."""

    @property
    def joined(self) -> bool:
        """Whether this worker is a member of the group, as far as it knows."""
        return self._confirmed_at is not None

    def join(self, timeout: float) -> None:
        """Join the group, and stay in it until `close`; raise what a user must mend.

        It goes on in the background where that takes longer than `timeout` seconds.
        """
        self._thread = self._runtime.spawn("eosfw-coordinator", self._run)
        self._settled.wait(timeout)
        if self.error is not None and not isinstance(self.error, RetriableError):
            self.close()
            raise self.error

    def confirm(self, timeout: float) -> bool:
        """Whether the group's coordinator says now that this worker is a member of it.

        RetriableError if nobody can say within `timeout` seconds.
        """
        question = _Question(self._runtime.event())
        self._questions.put(question)
        if not question.answered.wait(timeout):
            raise RetriableError(
                f"the group's coordinator did not confirm within {timeout:g} s that this worker is in it"
            )
        return question.is_member

    def rejoin(self) -> None:
        """Leave the group and join it again later, so that another worker is elected."""
        self._renewing = True
        self._questions.put(None)

    def close(self) -> None:
        """Leave the group."""
        self._closing = True
        self._questions.put(None)
        if self._thread is not None:
            self._thread.join(_CLOSE_TIMEOUT + self._timeouts.session)

    # --- the coordinator's thread

    def _run(self) -> None:
        while not self._closing:
            try:
                self._be_member()
                self._stay_away()
            except Exception as error:  # noqa: BLE001 a worker outlives whatever happens to its group
                self._report(error)
                self._lose()
                self._runtime.sleep(_AFTER_ERROR)
        self._lose()

    def _report(self, error: Exception) -> None:
        if isinstance(error, InconsistentGroupProtocolError):
            if self._may_be_gone(error):
                return
            error = InconsistentGroupProtocolError(
                f"a Kafka Connect group, or another that is none of eosfw's, is alive under this worker's group.id: "
                f"stop it first, or choose another group.id ({one_line(error)})"
            )
        repeated = self.error is not None and str(self.error) == str(error)
        self.error = error if isinstance(error, EosfwError) else RetriableError(one_line(error))
        if not repeated:
            known = isinstance(error, EosfwError)
            logger.warning("the worker is not in its group: %s", one_line(error), exc_info=not known)
        self._settled.set()

    def _may_be_gone(self, error: Exception) -> bool:
        """Whether the members of another kind of group may all have been killed, which their sessions will show."""
        now, session = self._runtime.now(), self._timeouts.session
        if self._other_kind_until is None:
            self._other_kind_until = now + session + _AFTER_ERROR
            logger.warning(
                "the worker waits %g s for its group, whose members may be gone: %s", session, one_line(error)
            )
        return now < self._other_kind_until

    def _be_member(self) -> None:
        """Until the worker closes or rejoins, or an error."""
        self._found = GroupAssignment()
        consumer = self._connect()
        member_at = self._runtime.now()
        try:
            while not (self._closing or self._renewing):
                self._note(consumer.poll(_JOINING if self._found.rebalancing else 0.0))
                self._confirm_if_due(consumer)
                member_at = self._runtime.now() if self.joined else member_at
                self._give_up_if_kept_waiting(member_at)
                self._rest()
        finally:
            self._renewing = False
            # Before it leaves: from then on the group may give these tasks to other workers.
            self._lose()
            consumer.close(_CLOSE_TIMEOUT)

    def _stay_away(self) -> None:
        """Wait until the group has surely elected another worker: it might elect this one again."""
        until = self._runtime.now() + self._timeouts.session
        while not self._closing and (left := until - self._runtime.now()) > 0:
            self._take_questions(left)
            self._answer(is_member=False)

    def _note(self, found: GroupAssignment) -> None:
        # A member that joins again under its id was told of an outdated generation; the group still counts it in.
        expelled = self._found.generation >= 0 and found.generation < 0 and found.member_id != self._found.member_id
        self._found = found
        if not found.rebalancing:  # else it has only not been refused yet
            self._other_kind_until = None
        if expelled:
            logger.warning("the group went on without this worker, which joins again")
            self._lose()
        self._note_leadership()

    def _note_leadership(self) -> None:
        if not self.joined or self._partition not in self._found.partitions:
            self.term = None
        elif self.term is None:
            self._terms += 1
            self.term = self._terms

    def _confirm_if_due(self, consumer: GroupConsumer) -> None:
        now = self._runtime.now()
        # A third, Kafka's rule for heartbeats: two answers may be lost before the session is over.
        due = self._confirmed_at is None or now - self._confirmed_at >= self._timeouts.session / 3
        if self._found.rebalancing or not (self._waiting or due):
            self._lose_if_silent(now)
            return
        try:
            consumer.confirm(self._timeouts.session / 3)
        except CommitFailedError as error:
            logger.warning("the worker was put out of its group, and joins again: %s", one_line(error))
            self._lose()
            self._found = GroupAssignment()
        except RetriableError as error:  # a rebalance has begun, or nobody can say: ask again after the next poll
            self._unanswered = error
            self._lose_if_silent(self._runtime.now())
        else:
            self.error = self._unanswered = None
            # When it was asked, not answered: the answer may be old by now, and the session counts from before it.
            self._confirmed_at = now
            self._note_leadership()
            self._answer(is_member=True)
            self._settled.set()

    def _give_up_if_kept_waiting(self, since: float) -> None:
        """Have another client join: one reads certificates when it is made, and those may have been renewed since."""
        # The others of the group may take their time to stop their tasks, and then a next rebalance theirs.
        patience = 2 * (self._timeouts.session + self._timeouts.rebalance)
        if self._runtime.now() - since > patience:
            raise RetriableError(f"its coordinator has not let this worker in for {patience:g} s")

    def _lose_if_silent(self, now: float) -> None:
        """Whoever heard nothing for so long was put out of the group, though it cannot know that yet."""
        patience = self._timeouts.session + (self._timeouts.rebalance if self._found.rebalancing else 0.0)
        if self._confirmed_at is not None and now - self._confirmed_at > patience:
            why = "" if self._unanswered is None else f": {one_line(self._unanswered)}"
            logger.warning("the worker has heard nothing of its group for %g s, and stops its tasks%s", patience, why)
            self._lose()
            self.error = self._unanswered

    def _lose(self) -> None:
        was_member, self._confirmed_at, self.term = self.joined, None, None
        self._take_questions(0.0)  # also those that were asked while this thread slept
        self._answer(is_member=False)
        if was_member:
            self._on_lost()

    def _answer(self, *, is_member: bool) -> None:
        questions, self._waiting = self._waiting, []
        for question in questions:
            question.is_member = is_member
            question.answered.set()

    def _rest(self) -> None:
        """Wait for a question, or a while; hardly in a rebalance, where `poll` waits."""
        self._take_questions(_BUSY if self._found.rebalancing or self._waiting else IDLE)

    def _take_questions(self, pause: float) -> None:
        while True:
            try:
                question = self._questions.get(pause)
            except TimeoutError:
                return
            if question is not None:
                self._waiting.append(question)
            pause = 0.0
