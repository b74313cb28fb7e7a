"""What other tests take for the end of the changes is the end."""

from __future__ import annotations

import psutil

from .reading import changed, reading


def test_a_server_that_is_busy_for_some_polls_is_waited_for(postgres_server, session, monkeypatch):
    """It has sent everything only if it says so."""
    session.execute("CREATE TABLE orders (id int PRIMARY KEY)")
    properties = postgres_server.properties | {"snapshot.mode": "no_data", "poll.interval.ms": 20}
    with reading(properties) as task:
        task.until_drained()
        sender, poll, polls = psutil.Process(task.task._backend_pid), task.task.poll, []

        def counted():
            polls.append(poll())
            if len(polls) == 3:
                sender.resume()
            return polls[-1]

        monkeypatch.setattr(task.task, "poll", counted)
        sender.suspend()
        try:
            session.execute("INSERT INTO orders VALUES (1)")
            assert changed(task.until_drained()) == [("c", {"id": 1})]
        finally:
            sender.resume()
