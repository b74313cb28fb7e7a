"""Taps of PyPI, each in a virtual environment of its own: what their sources have comes once."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace
from urllib.parse import parse_qs, urlparse

import psutil
import pytest

from .reading import reading

pytestmark = pytest.mark.ci
FAST = {"topic.prefix": "t-", "poll.interval.ms": "0", "retry.backoff.ms": "0"}
TABLE = "CREATE TABLE orders (id int PRIMARY KEY, changed timestamptz NOT NULL, amount numeric(10, 2))"
DAYS = "timestamptz '2024-01-01Z' + n / 3 * interval '1 day'"
ROWS = f"INSERT INTO orders SELECT n, {DAYS}, n * 1.5 FROM generate_series(1, 29) AS n"
MORE = "INSERT INTO orders VALUES (90, '2024-01-10Z', 7), (91, '2024-02-01Z', 8)"
CHANGE = "UPDATE orders SET changed = '2024-02-01Z' WHERE id = 1"


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Installs requirements into a new virtual environment; the path of one of its programs."""

    def install(program, *requirements):
        if shutil.which("uv") is None:
            pytest.skip("needs uv to install taps; try: pip install uv")
        folder = tmp_path_factory.mktemp("tap")
        uv(folder, "venv", "--python", sys.executable, "venv")
        uv(folder, "pip", "install", "--python", folder / "venv/bin/python", *requirements)
        return str(folder / "venv/bin" / program)

    return install


def uv(folder, *arguments):
    """Run uv with what is in its cache, else with what it fetches."""
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    command = ["uv", "--no-config", *map(str, arguments)]
    for attempt in ([*command, "--offline"], command):
        done = subprocess.run(attempt, cwd=folder, capture_output=True, text=True, env=environment, check=False)
        if done.returncode == 0:
            return
    pytest.fail(f"{' '.join(command)}\n{done.stderr}", pytrace=False)


@pytest.fixture
def meltano_postgres(installed, postgres_server, session):
    """A tap of Singer's SDK reads a table of PostgreSQL."""
    for statement in (TABLE, ROWS):
        session.execute(statement)
    url = f"postgresql://postgres:x@localhost/postgres?host={postgres_server.host}"
    return SimpleNamespace(
        command=installed("tap-postgres", "meltanolabs-tap-postgres==0.10.0"),
        config={"sqlalchemy_url": url, "filter_schemas": ["public"]},
        properties={"streams": "public-orders", "replication.keys": "public-orders=changed"},
        change=lambda: [session.execute(statement) for statement in (MORE, CHANGE)],
        found=[90, 91, 1],
    )


@pytest.fixture
def pipelinewise_postgres(installed, postgres_server, session):
    """A tap of the first generation reads a table of PostgreSQL."""
    for statement in (TABLE, ROWS):
        session.execute(statement)
    login = {"host": postgres_server.host, "port": 5432, "user": "postgres", "password": "", "dbname": "postgres"}
    return SimpleNamespace(
        command=installed("tap-postgres", "pipelinewise-tap-postgres==2.1.0"),
        config=login | {"filter_schemas": "public"},
        properties={
            "streams": "public-orders",
            "replication.keys": "public-orders=changed",
            "catalog.option": "--properties",
        },
        change=lambda: [session.execute(statement) for statement in (MORE, CHANGE)],
        found=[90, 91, 1],
    )


@pytest.fixture
def spreadsheets(installed, tmp_path):
    """A tap reads files of CSV, whose times of change are its bookmark."""

    def write(name, numbers, changed):
        path = tmp_path / name
        path.write_text("id,amount\n" + "".join(f"{number},{number * 1.5}\n" for number in numbers))
        os.utime(path, (changed, changed))

    write("one.csv", range(1, 30), 1_700_000_000)
    return SimpleNamespace(
        command=installed("tap-spreadsheets", "tap-spreadsheets==1.1.2"),
        config={
            "files": [{"path": f"{tmp_path}/*.csv", "format": "csv", "table_name": "orders", "primary_keys": ["id"]}]
        },
        properties={},
        change=lambda: write("two.csv", (90, 91), 1_700_000_100),
        found=[90, 91],
    )


@pytest.fixture
def jsonl(installed, tmp_path):
    """A tap reads files of JSON Lines, each a partition of its STATE."""

    def write(name, numbers, changed):
        path = tmp_path / name
        path.write_text("".join(json.dumps({"id": number, "lines": [number]}) + "\n" for number in numbers))
        os.utime(path, (changed, changed))

    write("one.jsonl", range(1, 30), 1_700_000_000)
    return SimpleNamespace(
        command=installed("tap-jsonl", "tap-jsonl==0.3.1"),
        config={"path": f"{tmp_path}/*.jsonl", "primary_keys": ["id"], "stream_name": "orders"},
        properties={},
        change=lambda: write("two.jsonl", (90, 91), 1_700_000_100),
        found=[90, 91],
    )


@pytest.fixture
def rest_api(installed):
    """A tap reads a REST API that is served here."""
    command = installed("tap-rest-api-msdk", "tap-rest-api-msdk==1.4.2", "setuptools<81")  # first: it may skip the test
    rows = [{"id": number, "changed": f"2024-01-{1 + number // 3:02}T00:00:00Z"} for number in range(1, 30)]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            since = parse_qs(urlparse(self.path).query).get("since", [""])[0]
            found = sorted((row for row in rows if row["changed"] >= since), key=lambda row: row["changed"])
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps({"items": found}).encode())

        def log_message(self, *_):
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    stream = {
        "name": "orders",
        "path": "/orders",
        "records_path": "$.items[*]",
        "primary_keys": ["id"],
        "replication_key": "changed",
        "source_search_field": "since",
        "source_search_query": "$last_run_date",
        "start_date": "2024-01-01",
    }
    yield SimpleNamespace(
        command=command,
        config={"api_url": f"http://127.0.0.1:{server.server_port}", "streams": [stream]},
        properties={},
        change=lambda: rows.extend(
            [{"id": 90, "changed": rows[-1]["changed"]}, {"id": 91, "changed": "2024-03-01T00:00:00Z"}]
        ),
        found=[90, 91],
    )
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["meltano_postgres", "pipelinewise_postgres", "spreadsheets", "jsonl", "rest_api"])
def test_a_tap_of_pypi_gives_what_is_new_once(request, name):
    """SNG-21: killed in its first run, started again, and by another task; then with rows that tie with old ones."""
    tap = request.getfixturevalue(name)
    given = FAST | {"tap.command": tap.command, "tap.config": json.dumps(tap.config), **tap.properties}
    killed = False
    while not killed:  # on a busy machine it may have ended before
        with reading(given, boundary="connector") as task:
            task.poll()
            killed = kill_tap(task)
            task.run()
    assert len(task.errors) == 1
    assert sorted(map(int, task.ids)) == list(range(1, 30))
    tap.change()
    with reading(given, task.offset, boundary="poll") as task:
        assert sorted(int(row["id"]) for _, row in task.run()) == sorted(tap.found)
        assert task.run() == []


def kill_tap(task):
    """Kill the tap, or its discovery, not the process that watches it; whether it had not ended before."""
    watcher = psutil.Process(task.task._run.tap._process._process.pid)
    killed = False
    for one in watcher.children():
        with suppress(psutil.NoSuchProcess):
            if one.cmdline()[:1] != ["/bin/sh"]:
                one.suspend()  # so that it ends by this alone
                while (status := one.status()) not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE):
                    pass
                killed |= status == psutil.STATUS_STOPPED
                one.kill()
    return killed
