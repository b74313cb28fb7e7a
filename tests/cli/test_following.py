"""`eosfw run` with streaming steps, and with `--follow`."""

from __future__ import annotations

import json
import signal

from tests.cli.conftest import ENDLESS

from eosfw.errors import ExitCode


def streaming(sql: str = "count", name: str = "rows", reads: str = "t", more: str = "") -> str:
    head = f'[[steps]]\nname = "{name}"\ninputs = ["{reads}"]\nsql = "{sql}"\ntrigger = "1 second"\n'
    return head + (more or f'output = "out/{name}"\n')


BATCH = '[[steps]]\nname = "old"\ninputs = ["t"]\nsql = "count"\noutput = "old"\n'


def test_following_goes_on_until_interrupted_then_drains(start, pipeline) -> None:
    """Connectors commit first, so that the steps behind them read what was committed last."""
    chain = streaming(name="first", more='output.topic = "middle"\n') + streaming(name="second", reads="middle")
    run = start("run", "--json", "--follow", pipeline("slow", more=ENDLESS, steps=chain))
    run.until(lambda: "first goes on" in run.err() and "second goes on" in run.err() and run.polled() > 1)

    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert run.err().index("first drains") < run.err().index("second drains")
    assert "interrupted: what was polled is committed; the next run" in run.err()
    assert "Traceback" not in run.err()
    summary = json.loads(run.out())
    assert (summary["passed"], summary["error"]["exit_code"]) == (False, 130)
    assert summary["records"] > 0
    for step in ("first", "second"):
        assert summary["streaming"][step] == {
            "batch": summary["streaming"][step]["batch"],
            "rows": 3 * (summary["streaming"][step]["batch"] + 1),
            "behind": 7,
            "held_back": [],
        }


def test_connectors_are_followed_without_steps(start, pipeline) -> None:
    """Their sources' end is no end of the run; steps that are no streams are left out, with a word."""
    run = start("run", "--follow", pipeline(more="records = 3", steps=BATCH))
    run.until(lambda: "following c" in run.err())
    assert "steps without a trigger are left out, a run without --follow has them: old" in run.err()

    run.send(signal.SIGTERM)

    assert run.end() == ExitCode.INTERRUPTED


def test_notices_of_tasks_are_shown_while_they_are_followed(start, pipeline) -> None:
    """A run that goes on for months has no summary in which they would be read; those of a kind come once at first."""
    run = start("run", "--quiet", "--follow", pipeline("noticing", more="records = 20"))
    run.until(lambda: "warning: task c-0: row 0 is odd" in run.err())

    run.send(signal.SIGTERM)

    assert run.end() == ExitCode.INTERRUPTED
    assert "row 1 is odd" not in run.err()


def test_a_failing_query_ends_the_run_with_one_sentence(start, pipeline) -> None:
    run = start("run", "--quiet", "--follow", pipeline("endless", steps=streaming("fail")))

    assert run.end() == ExitCode.VERDICT_FAILED
    assert "eosfw: step rows failed: no such column\n" in run.err()
    assert "rows stops" in run.err()
    assert "Traceback" not in run.err()


def test_a_held_step_and_one_that_is_cut_off_say_so_once(start, pipeline) -> None:
    steps = streaming("held", name="held") + streaming("slow", name="slow")
    run = start("run", "--follow", pipeline("endless", steps=steps))
    run.until(lambda: all(run.err().count(f"{step} goes on") > 2 for step in ("held", "slow")))  # told, and told again

    run.send(signal.SIGINT)

    assert run.end() == ExitCode.INTERRUPTED
    assert run.err().count("warning: step held: t-0 is held back by transactional id 'stuck'") == 1
    assert "step slow: not everything that is committed was read" in run.err()
    assert "step held: not everything" not in run.err()


def test_without_follow_a_streaming_step_reads_what_is_there(command, pipeline) -> None:
    run = command("run", "--json", "--no-verify", pipeline(more="records = 3", steps=streaming() + BATCH))

    assert run.end() == 0, run.err()
    steps = json.loads(run.out())["steps"]
    assert (steps["rows"]["rows"], steps["rows"]["streaming"]) == (9, True)
    assert steps["old"]["streaming"] is False


def test_following_needs_something_to_follow(command, pipeline) -> None:
    file = pipeline(steps=BATCH)

    nothing = command("run", "--follow", "--steps-only", file)
    assert nothing.end() == ExitCode.CONFIGURATION
    assert "--follow has nothing to run: no step has a trigger" in nothing.err()

    verified = command("run", "--follow", "--verify", file)
    assert verified.end() == ExitCode.USAGE
    assert "--follow has no end at which --verify could count" in verified.err()
