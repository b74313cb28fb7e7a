"""`eosfw doctor`: findings, remedies and exit codes."""

from __future__ import annotations

import json
import os
import pty
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Finished, in_this_process

import installation
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ExitCode
from eosfw.protocols import NewTopic
from eosfw_memory.client.backend import MemoryBackend
from ports import free_port

Doctor = Callable[..., tuple[int, dict[str, list[dict[str, str]]]]]
ENTRY_POINTS = "[eosfw]\nacme = acme_plugin\n"


@pytest.fixture
def site(tmp_path) -> Path:
    folder = tmp_path / "plugins"
    folder.mkdir()
    return folder


@pytest.fixture
def install(site) -> Callable[..., None]:
    """Install a distribution `acme` with one module."""

    def put(module: str = "", installed_entry_points: str = ENTRY_POINTS) -> None:
        installation.install(site, "acme", installed_entry_points)
        (site / "acme_plugin.py").write_text(module)

    return put


@pytest.fixture
def command(site, monkeypatch) -> Iterator[Callable[..., Finished]]:
    """Run `eosfw ARGUMENTS` in this process, with `acme` as it is installed."""
    with in_this_process(site, monkeypatch) as run:
        yield run
    sys.modules.pop("acme_plugin", None)


@pytest.fixture
def doctor(command) -> Doctor:
    """Run `eosfw doctor`; return the exit code and the findings by subject."""

    def ask(*arguments: object) -> tuple[int, dict[str, list[dict[str, str]]]]:
        run = command("doctor", "--json", *arguments)
        code = run.end()
        answer = json.loads(run.out())
        assert answer["exit_code"] == code
        assert "Traceback" not in run.err()
        subjects: dict[str, list[dict[str, str]]] = {}
        for finding in answer["findings"]:
            subjects.setdefault(finding["subject"], []).append(finding)
        return code, subjects

    return ask


def write(folder: Path, text: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(text)
    return path


def test_installed_parts_are_listed_as_working(doctor) -> None:
    code, seen = doctor()

    assert (seen["Python"][0]["health"], seen["eosfw"][0]["health"], seen["port"][0]["health"]) == ("ok", "ok", "ok")
    assert "kio 0.6" in seen["eosfw-memory"][0]["found"]
    assert code == 0, seen


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("import left_pad_of_nobody", "ModuleNotFoundError"),
        (
            "from eosfw import hookimpl\n@hookimpl\ndef eosfw_backends():\n    return [type('B', (), {'name': 'b'})]",
            "does not keep Backend",
        ),
    ],
)
def test_a_broken_plugin_is_named_with_its_remedy_and_is_a_failure(doctor, install, module, reason) -> None:
    install(module)

    code, seen = doctor()

    (broken,) = seen["acme (acme)"]
    assert code == ExitCode.CONFIGURATION
    assert reason in broken["found"]
    assert broken["remedy"] == "pip install --force-reinstall acme; or: pip uninstall acme"
    assert seen["eosfw"][0]["health"] == "ok"


def test_a_command_that_cannot_be_loaded_is_named(doctor, install) -> None:
    install("raise RuntimeError('not today')", "[eosfw.commands]\nacme = acme_plugin:command\n")

    code, seen = doctor()

    assert code == ExitCode.CONFIGURATION
    assert seen["acme (command acme)"][0]["found"] == "RuntimeError: not today"


def test_a_plugin_that_prints_does_not_spoil_the_answer(doctor, install) -> None:
    install("import os\nprint('hello')\nos.write(1, b'raw')")

    assert doctor()[0] == 0


def test_an_address_in_use_is_reported(doctor) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        code, seen = doctor("--listen", address)
    assert code == ExitCode.CONFIGURATION
    assert seen["port"][1]["found"] == f"{address} cannot be listened at: Address already in use"

    code, seen = doctor("--listen", address)
    assert (code, seen["port"][1]["found"]) == (0, f"{address} can be listened at")


# --- with a pipeline file


CONNECTOR = '[connectors.c]\n"connector.class" = "file"\nfile = "{file}"\ntopic = "t"\n'
GROUP = '[worker]\n"group.id" = "g"\n'


BACKENDS = pytest.mark.parametrize("backend", ["memory", "confluent", "kafka-python"])


@pytest.fixture
def doctor_of_cluster(doctor, tmp_path) -> Doctor:
    """Run `eosfw doctor` for a pipeline on a cluster."""
    (tmp_path / "lines.txt").write_text("1\n")

    def ask(backend: str, address: str, more: str = "", group: str = GROUP) -> tuple[int, dict]:
        cluster = f'[cluster]\nbackend = "{backend}"\n"bootstrap.servers" = "{address}"\n{more}\n'
        return doctor(write(tmp_path, cluster + group + CONNECTOR.format(file="lines.txt")))

    return ask


def test_a_pipeline_on_an_embedded_broker_needs_no_cluster(doctor, tmp_path) -> None:
    (tmp_path / "lines.txt").write_text("1\n")
    code, seen = doctor(write(tmp_path, GROUP + CONNECTOR.format(file="lines.txt")))

    assert code == 0, seen
    assert seen["pipeline.toml"][0]["found"] == "1 connector through backend memory"
    assert "embedded" in seen["cluster"][0]["found"]


@BACKENDS
def test_an_address_without_a_broker_is_unavailable(doctor_of_cluster, backend) -> None:
    address = f"127.0.0.1:{free_port()}"

    code, seen = doctor_of_cluster(backend, address)

    assert code == ExitCode.UNAVAILABLE
    assert seen["cluster"][0]["health"] == "unavailable"
    assert f"{address} (Connection refused)" in seen["cluster"][0]["found"]


@BACKENDS
def test_a_cluster_that_lets_in_but_does_not_answer_is_unavailable(doctor_of_cluster, backend) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        code, seen = doctor_of_cluster(backend, address, '"default.api.timeout.ms" = 300')
        wrong, named = doctor_of_cluster(backend, address, '"default.api.timeout.ms" = "soon"')

    assert code == ExitCode.UNAVAILABLE
    assert address in seen["cluster"][0]["found"]
    assert wrong == ExitCode.CONFIGURATION
    assert "default.api.timeout.ms" in json.dumps(named)


@BACKENDS
def test_a_cluster_that_answers_is_fine(embedded, doctor_of_cluster, backend) -> None:
    code, seen = doctor_of_cluster(backend, embedded, group='[worker]\n"group.id" = "doctor"\n')

    assert (code, seen["cluster"][0]["health"]) == (0, "ok")
    assert f"{embedded} answers" in seen["cluster"][0]["found"]


def test_topics_that_would_lose_offsets_are_reported_before_a_run(embedded, doctor_of_cluster) -> None:
    """LOG-01, and the same of the offsets topic: what a run would refuse."""
    group = "doctor-loses"
    with closing(MemoryBackend.connect({"bootstrap.servers": embedded}, ThreadRuntime()).admin()) as admin:
        admin.create_topics([NewTopic(f"{group}-configs", 3), NewTopic(f"{group}-offsets", 3)])

    code, seen = doctor_of_cluster("confluent", embedded, group=f'[worker]\n"group.id" = "{group}"\n')

    assert code == ExitCode.CONFIGURATION
    assert "has 3 partitions" in seen["config.storage.topic"][0]["found"]
    assert "has cleanup.policy=delete" in seen["offset.storage.topic"][0]["found"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("= nonsense", "pipeline.toml"),
        (f'[cluster]\nbackend = "confluant"\n{GROUP}', "confluent"),
        (GROUP + '[connectors.c]\n"connector.class" = "fisle"\n', "file"),
    ],
)
def test_problems_of_a_pipeline_are_reported(doctor, tmp_path, text, message) -> None:
    code, seen = doctor(write(tmp_path, text))

    broken = [one for findings in seen.values() for one in findings if one["section"] == "Pipeline"]
    assert code == ExitCode.CONFIGURATION
    assert message in " ".join(one["subject"] + one["found"] for one in broken)


# --- how it looks


def test_the_text_report_prints_each_remedy_below_its_problem(command, install) -> None:
    install("import left_pad_of_nobody")
    run = command("doctor")

    assert run.end() == ExitCode.CONFIGURATION
    lines = run.out().splitlines()
    at = next(number for number, line in enumerate(lines) if line.lstrip().startswith("BROKEN"))
    assert "acme (acme)" in lines[at]
    assert "-> pip install --force-reinstall acme" in lines[at + 1]
    assert lines[-1].startswith("1 is broken")
    assert "\x1b" not in run.out()
    assert run.err() == ""


@pytest.mark.parametrize(("variable", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_used_only_on_terminals_that_allow_them(site, variable, coloured) -> None:
    text = on_a_terminal({"PYTHONPATH": str(site), "TERM": "xterm", **variable})

    assert ("\x1b[" in text) is coloured
    assert "Python" in text


def on_a_terminal(env: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    environment = {name: text for name, text in os.environ.items() if name != "NO_COLOR"} | env
    code = "from eosfw.cli import main; main(['doctor'])"
    with subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # how a terminal says that nobody is left on its other side
                break
            if not piece:
                break
            text += piece
        process.wait(60)
    os.close(ours)
    return text.decode()
