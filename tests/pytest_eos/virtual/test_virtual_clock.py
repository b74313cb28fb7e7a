"""A virtual clock jumps, its tasks take turns chosen by a seed, and none is left running."""

from __future__ import annotations

import logging
import threading

import pytest

from pytest_eos.virtual import DeadlockError, VirtualRuntime


@pytest.fixture
def clock():
    with VirtualRuntime() as runtime:
        yield runtime


def racing(seed):
    """The order of turns of three tasks with five turns each."""
    order = []
    with VirtualRuntime(seed) as runtime:
        lock = runtime.lock()

        def take_turns(name):
            for turn in range(5):
                with lock:
                    order.append((name, turn))

        spawned = [runtime.spawn(name, lambda name=name: take_turns(name)) for name in "abc"]
        assert all(one.join() for one in spawned)
    return order


@pytest.mark.parametrize("seed", range(20))
def test_each_item_of_a_queue_is_taken_once(seed):
    """A task woken for an item that another task took waits again."""
    with VirtualRuntime(seed) as clock:
        queue, got = clock.queue(), []
        takers = [clock.spawn(f"t{n}", lambda: got.extend(queue.get() for _ in range(4))) for n in range(3)]
        for item in range(12):
            queue.put(item)
        assert all(one.join() for one in takers)

    assert sorted(got) == list(range(12))


@pytest.mark.parametrize("seed", range(20))
def test_a_lock_has_one_holder_and_is_reentrant(seed):
    """Runtime.lock: also where its holder is made to wait."""
    inside, most = [], []
    with VirtualRuntime(seed) as clock:
        lock, event = clock.lock(), clock.event()

        def hold(name):
            for _ in range(3):
                with lock, lock:
                    inside.append(name)
                    event.is_set()  # others may go on here
                    most.append(len(inside))
                    inside.remove(name)

        for one in [clock.spawn(name, lambda name=name: hold(name)) for name in "abc"]:
            assert one.join()

    assert most == [1] * 9


@pytest.mark.parametrize("seed", [None, 0])
def test_without_a_seed_each_task_runs_until_it_blocks(seed):
    """First come, first served."""
    assert racing(seed) == [(name, turn) for name in "abc" for turn in range(5)]


def test_a_deadlock_reports_each_task_and_its_wait(clock):
    """No task can run and no timer is set."""
    first, second = clock.lock(), clock.lock()
    never = clock.event()

    def hold(mine, other):
        with mine:
            clock.sleep(1)
            with other:
                pytest.fail("unreachable")

    clock.spawn("ann", lambda: hold(first, second))
    clock.spawn("bob", lambda: hold(second, first))

    with pytest.raises(DeadlockError) as raised:
        never.wait()

    text = str(raised.value)
    assert "deadlock: nobody can run" in text
    assert "the test: waits for an event in test_a_deadlock_reports_each_task_and_its_wait" in text
    assert "ann: waits for a lock that bob holds in hold (virtual/test_virtual_clock.py:" in text
    assert "bob: waits for a lock that ann holds" in text


def test_a_test_waiting_for_idle_tasks_is_failed():
    """An idle poll sets timers for ever: virtual time must not run away with it."""

    def poll(clock):
        while True:
            clock.sleep(0.1)

    with VirtualRuntime(patience=60) as clock:
        clock.spawn("polls", lambda: poll(clock))

        with pytest.raises(DeadlockError, match=r"waited 60 virtual seconds in vain for an event") as raised:
            clock.event().wait()

        assert "polls: waits for 0.1 s to pass in poll" in str(raised.value)
        clock.sleep(1)  # and the clock still works


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("wait", ["sleep", "event", "queue"])
def test_a_task_that_never_blocks_cannot_starve_others(seed, wait):
    """Reading the clock takes virtual time, so turns end and timers fire beside a busy task."""
    with VirtualRuntime(seed) as clock:
        stop, begun, queue = clock.event(), clock.event(), clock.queue()

        def work():
            begun.set()
            queue.put(None)
            while not stop.is_set():
                clock.now()

        busy = clock.spawn("works", work)
        {"sleep": lambda: clock.sleep(0.1), "event": begun.wait, "queue": queue.get}[wait]()
        stop.set()

        assert busy.join()


def test_a_test_waiting_for_endlessly_busy_tasks_is_failed():
    """The timeout also ends a wait beside a task that never blocks."""
    with VirtualRuntime(patience=0.1) as clock:
        stop = clock.event()

        def work():
            while not stop.is_set():
                clock.now()

        clock.spawn("works", work)
        with pytest.raises(DeadlockError, match=r"0\.1 virtual seconds in vain for an event"):
            clock.event().wait()
        stop.set()


def test_an_error_of_a_spawned_task_is_raised_in_the_test(clock):
    """A target must not raise; if it does, its error is raised in the test."""

    def fail():
        clock.sleep(1)
        raise ValueError("spilt")

    failing = clock.spawn("fails", fail)

    with pytest.raises(ValueError, match="spilt"):
        clock.sleep(5)

    assert failing.join(1)
    assert not failing.is_alive()


def test_tasks_left_at_the_end_are_ended_and_named():
    """No greenlet is left, and its resources are released."""
    ended = []

    def stay(clock, event):
        try:
            event.wait()
        finally:
            ended.append(clock.now())

    def cling(clock, event):
        try:
            event.wait()
        except BaseException:  # noqa: BLE001 - as a task does, which outlives whatever its connector raises
            clock.sleep(1)

    clock = VirtualRuntime()
    event = clock.event()
    clock.spawn("stays", lambda: stay(clock, event))
    clock.spawn("clings", lambda: cling(clock, event))
    clock.spawn("goes", lambda: clock.sleep(1))
    clock.sleep(2)
    clock.spawn("never began", lambda: ended.append("began"))

    assert clock.close() == ["stays", "clings", "never began"]
    assert len(ended) == 1
    with pytest.raises(RuntimeError, match="clock has stopped"):
        clock.sleep(1)


def test_what_is_logged_while_tasks_are_ended_is_not_shown(clock, caplog):
    """A watch of a killed worker would report an error of the connector, with a trace, in each test that fails."""

    def watch() -> None:
        try:
            clock.sleep(60)
        except BaseException:
            logging.getLogger("watcher").exception("the connector failed")

    clock.spawn("watches", watch)
    clock.sleep(1)

    assert clock.close() == ["watches"]
    logging.getLogger("test").error("still logged")
    assert [record.getMessage() for record in caplog.records] == ["still logged"]


def test_a_thread_that_the_clock_does_not_know_is_refused(clock):
    """A connector with threads of its own needs the real clock. Its refusal gives nobody a turn."""
    messages = []
    event = clock.event()
    stays = clock.spawn("stays", event.wait)

    def stranger():
        for ask in (lambda: clock.sleep(1), event.is_set, lambda: clock.spawn("none", event.wait)):
            try:
                for _ in range(1000):  # a seed decides when a turn is passed on
                    ask()
            except RuntimeError as why:
                messages.append(str(why))

    thread = threading.Thread(target=stranger)
    thread.start()
    thread.join()

    assert ['mark.eos_clock("real")' in one for one in messages] == [True] * 3
    clock.sleep(1)
    assert not stays.join(5)
    event.set()
    assert stays.join(5)
