"""The command line: stdout, stderr and exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import eosfw
from eosfw.cli import main
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend

Pipeline = Callable[..., Path]


def sentences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]


def test_the_version_is_one_line_on_stdout(command) -> None:
    run = command("--version")

    assert (run.end(), run.out()) == (0, f"eosfw {eosfw.__version__}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["runn"], "no command 'runn'; did you mean 'run'? Try: eosfw --help"),
        (["zzz"], "no command 'zzz'; there are: run, worker, read, broker, plugins, doctor"),
        (["run"], "Missing argument 'file'"),
        (["run", "a.toml", "--no-such"], "No such option: --no-such"),
        (["run", "a.toml", "--timeout", "soon"], "'--timeout': 'soon' is not a valid float"),
        (["run", "a.toml", "--idle", "-1"], "-1.0 is not in the range x>=0"),
    ],
)
def test_wrong_usage_is_one_sentence_and_exit_code_two(command, arguments, message) -> None:
    run = command(*arguments)

    assert run.end() == ExitCode.USAGE
    assert message in run.err()
    assert len(sentences(run.err())) == 1
    assert run.out() == ""


def test_a_command_of_a_missing_extra_names_its_install_command(command, tmp_path) -> None:
    run = command("spark")

    run.end()
    assert "pip install 'eosfw[spark]'" in run.err()


def test_help_imports_no_command_but_the_one_it_is_about() -> None:
    code = (
        "import sys\n"
        "from eosfw.cli.app import command\n"
        "command().main(['--help'], prog_name='eosfw', standalone_mode=False)\n"
        "command().main(['topics', '--help'], prog_name='eosfw', standalone_mode=False)\n"
        "heavy = {'pyspark', 'confluent_kafka', 'kio', 'rich', 'pydantic', 'eosfw.runtime', 'eosfw.pipeline'}\n"
        "others = {'asyncio', 'eosfw.cli.acl', 'eosfw.cli.connectors', 'eosfw.cli.run', 'eosfw.cli.top'}\n"
        "print(sorted((heavy | others) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stderr == "[]\n"
    assert "Run a pipeline file" in done.stdout
    assert "Usage: eosfw topics" in done.stdout


def test_another_distributions_command_is_listed_and_runs(command) -> None:
    listing = command("--help")
    listing.end()

    assert "greet" in listing.out()
    assert "Greet, then fail" in listing.out()


def test_a_command_that_cannot_be_loaded_is_named_and_leaves_the_others(command) -> None:
    run = command("unloadable")

    assert run.end() == ExitCode.CONFIGURATION
    assert "command 'unloadable' cannot be loaded from testkit" in run.err()


def test_an_unexpected_error_is_one_sentence_that_says_where_the_traceback_is(command) -> None:
    run = command("greet")

    assert run.end() == 1
    (message,) = sentences(run.err())
    assert "unexpected ZeroDivisionError: one over nothing" in message
    saved = Path(message.rpartition(" ")[2])
    assert "Traceback" in saved.read_text()
    saved.unlink()


def test_plugins_are_listed_with_what_does_not_work(command) -> None:
    run = command("plugins", "--json")

    assert run.end() == 0
    listing = json.loads(run.out())
    assert {"role": "connector", "name": "raising", "distribution": "testkit", "version": "9.9"} in listing["plugins"]
    (failure,) = [one for one in listing["failures"] if one["distribution"] == "testkit"]
    assert "ModuleNotFoundError" in failure["reason"]


def test_properties_of_parts_are_listed_as_a_user_writes_them(command) -> None:
    sited = {"role": "fencer", "name": "sited", "property": "fencer.site", "default": "Oslo", "doc": "where it fences"}
    as_json, as_text = command("plugins", "--json"), command("plugins")
    as_json.end()
    as_text.end()

    assert sited in json.loads(as_json.out())["properties"]
    assert ["fencer.site", "sited", "Oslo", "where", "it", "fences"] in [
        line.split() for line in as_text.out().splitlines()
    ]


def test_a_closed_pipe_on_stdout_is_no_error() -> None:
    code = "from eosfw.cli import main; main(['plugins'])"
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("number", "advertised"), [(signal.SIGTERM, ""), (signal.SIGINT, "kafka.example:9999")], ids=["SIGTERM", "SIGINT"]
)
def test_the_broker_prints_its_real_address_and_ends_cleanly(start, number, advertised) -> None:
    """Scripts read the port that was taken for port 0, and stop the broker by a signal."""
    run = start("broker", "--listen", "127.0.0.1:0", *(["--advertised", advertised] if advertised else []))
    run.until(lambda: "listening on" in run.out())
    address, _, elsewhere = run.out().removeprefix("listening on ").strip().partition(", advertised as ")
    host, port = address.rsplit(":", 1)
    socket.create_connection((host, int(port)), timeout=5).close()

    run.send(number)

    assert (run.end(), elsewhere) == (0, advertised)


def test_the_broker_makes_a_throw_away_authority_and_prints_what_a_client_needs(start, tmp_path) -> None:
    """SEC-29: its files are gone with it. What is written is for this user alone, also where there was a file."""
    written = tmp_path / "client.properties"
    written.write_text("of an earlier broker")
    written.chmod(0o644)
    run = start("broker", "--tls", "auto", "--listen", "127.0.0.1:0", "--client-properties", str(written))
    run.until(lambda: "sasl.jaas.config" in run.out())
    first, *printed = run.out().splitlines()
    properties = dict(line.split("=", 1) for line in printed)
    backend = MemoryBackend.connect(properties, ThreadRuntime())
    backend.admin().create_topics([NewTopic("t")])
    backend.close()

    run.send(signal.SIGTERM)

    assert run.end() == 0
    assert first == f"listening on {properties['bootstrap.servers']}"
    assert written.read_text().splitlines() == printed
    assert written.stat().st_mode & 0o077 == 0
    assert not Path(properties["ssl.truststore.location"]).exists()


def test_a_port_in_use_is_named(command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        run = command("broker", "--listen", f"127.0.0.1:{port}")

        assert run.end() in (ExitCode.CONFIGURATION, ExitCode.UNAVAILABLE)
    assert f"127.0.0.1:{port}" in run.err()
    assert "in use" in run.err()
    assert len(sentences(run.err())) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "0.0.0.0:0"], "advertised"),
        (["--listen", "9092"], "HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "between 0 and 65535"),
        (["--listen", "127.0.0.1:" + "1" * 5000], "between 0 and 65535"),
        (["--listen", "\udcff:0"], "HOST:PORT"),
        (["--property", "nonsense"], "KEY=VALUE"),
        (["--property", "num.partitons=1"], "num.partitions"),
        (["--property", "listeners=PLAINTEXT://127.0.0.1:9999"], "--listen"),
        (["--data-dir", ""], "name a directory"),
        (["--client-properties", "file"], "a client needs none without --tls auto"),
        (
            ["--listen", "127.0.0.1:0", "--tls", "auto", "--client-properties", "/nowhere/file"],
            "/nowhere/file: No such file",
        ),
        (["--users", "/nowhere/users", "--listen", "127.0.0.1:0"], "/nowhere/users cannot be read: No such file"),
        (["--users", "users", "--listen", "PLAINTEXT://127.0.0.1:0"], "no listener has SASL"),
        (["--listen", "SSL://127.0.0.1:0"], "listener SSL needs a certificate"),
    ],
)
def test_a_broker_with_invalid_options_does_not_start(command, arguments, message) -> None:
    """A host other than loopback needs --advertised, a listener with TLS its files."""
    run = command("broker", *arguments)

    assert run.end() == ExitCode.CONFIGURATION
    assert message in run.err()
    assert run.out() == ""


def test_ctrl_c_before_a_command_started_is_reported(monkeypatch, capsys) -> None:
    """Also while plugins are loaded."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eosfw.registry.load_plugins", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["plugins"])

    assert ended.value.code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err.strip() == "eosfw: interrupted"


@pytest.mark.parametrize(
    "words", [["run", "x.toml", "--idle"], ["run", "x.toml", "--timeout"], ["read", "file", "--idle"]]
)
def test_a_time_that_never_passes_is_a_mistake_of_the_caller(command, words) -> None:
    run = command(*words, "nan")

    assert run.end() == ExitCode.USAGE
    assert "nan is not between" in run.err()
