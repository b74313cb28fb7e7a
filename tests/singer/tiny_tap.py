"""A tap of the tests' own: it reads rows from a file, a line of JSON each, as `>=` bookmarks say.

Its configuration: `rows` (the file), `state_every` (a STATE behind each row whose id it divides, beside that at the
end), `full` (streams without bookmark), `script` (messages or lines to write in the place of rows), `exit` (the
status), `crash_at` (a file that has the number of rows behind which it kills itself, once), `log` (what it writes to
stderr), `pause` (seconds behind each row), `catalog` (what it discovers), `echo` (a file for what it was given).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

SCHEMA = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "at": {"type": "string"}, "text": {"type": ["null", "string"]}},
    "required": ["id", "at"],
}


def say(message):
    sys.stdout.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
    sys.stdout.flush()


def crash(config, given):
    """Die as by kill -9, once."""
    path = Path(config["crash_at"]) if "crash_at" in config else None
    if path is not None and path.exists() and given >= int(path.read_text()):
        path.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def read(config, state):
    bookmarks = dict(state.get("bookmarks", {}))
    begin = dict(bookmarks)
    rows = [json.loads(line) for line in Path(config["rows"]).read_text().splitlines()]
    given = 0
    for stream in dict.fromkeys(row["stream"] for row in rows):
        full = stream in config.get("full", ())
        say(
            {"type": "SCHEMA", "stream": stream, "schema": SCHEMA, "key_properties": ["id"]}
            | ({} if full else {"bookmark_properties": ["at"]})
        )
        mine = sorted((row["record"] for row in rows if row["stream"] == stream), key=lambda one: one["at"])
        for record in mine:
            if not full and record["at"] < begin.get(stream, ""):
                continue
            crash(config, given)
            say({"type": "RECORD", "stream": stream, "record": record})
            given += 1
            if not full:
                bookmarks[stream] = record["at"]
            # By the row, not by how many were given: a tap that is started again gives other ones.
            if config.get("state_every") and record["id"] % config["state_every"] == 0:
                say({"type": "STATE", "value": {"bookmarks": bookmarks}})
            if config.get("pause"):
                time.sleep(config["pause"])
        if not full:
            say({"type": "STATE", "value": {"bookmarks": bookmarks}})


def main():
    parser = argparse.ArgumentParser()
    for option in ("--config", "--state", "--catalog"):
        parser.add_argument(option)
    parser.add_argument("--discover", action="store_true")
    given = parser.parse_args()
    config = json.loads(Path(given.config).read_text())
    state = json.loads(Path(given.state).read_text()) if given.state else {}
    if "log" in config:
        sys.stderr.write(config["log"] + "\n")
    if given.discover:
        say(json.dumps(config["catalog"], indent=1))
    elif "echo" in config:  # what the tap was given, for tests to see
        catalog = json.loads(Path(given.catalog).read_text()) if given.catalog else None
        Path(config["echo"]).write_text(
            json.dumps({"catalog": catalog, "state": state, "environment": dict(os.environ)})
        )
    elif "script" in config:
        # In one piece, so that no scheduler decides how many messages a reader finds.
        say("\n".join(one if isinstance(one, str) else json.dumps(one) for one in config["script"]))
    else:
        read(config, state)
    sys.exit(config.get("exit", 0))


if __name__ == "__main__":
    main()
