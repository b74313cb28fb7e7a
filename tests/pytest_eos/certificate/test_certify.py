"""`eosfw certify`: a scaffold holds, planted bugs are found with a witness, mistakes are told before anything runs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tests.pytest_eos.distributions import eosfw, installed_entry_point  # noqa: F401 - a fixture

import pytest_eos.certificate.plugin
import pytest_eos.fixtures
import pytest_eos.harness  # noqa: F401 - here, so that each test inside a test need not import them again
from eosfw.concurrency import ThreadRuntime
from eosfw.errors import ConfigError, PluginError
from pytest_eos.certificate.badge import badge, markdown
from pytest_eos.certificate.certify import process
from pytest_eos.certificate.certify.environment import checked_environment
from pytest_eos.certificate.certify.job import VARIABLE, CertifyJob
from pytest_eos.certificate.certify.properties_file import read_properties
from pytest_eos.certificate.certify.summary import summary
from pytest_eos.certificate.certify.target import checked_page, checked_seed, checked_target, play_again
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins().imported()
SUITE = Path(process.__file__).with_name("suite.py")
PLANTED = "tests.pytest_eos.certificate.planted"
EXAMPLE = Path(__file__).parents[3] / "examples" / "counter"
"""What `eosfw new connector counter` writes; another test keeps it equal."""
COUNTER = "tests.pytest_eos.counter:CounterConnector"


@pytest.fixture
def certified(pytester, monkeypatch):
    """Run the tests of a certificate in this process; return its data."""

    def run(connector, *arguments, records=200, **left_out):
        job = CertifyJob(connector, {"until": "12"}, records, left_out, 30, "eosfw certify counter --seed ")
        (pytester.path / "job.json").unlink(missing_ok=True)
        job.save(pytester.path / "job.json")
        monkeypatch.setenv(VARIABLE, str(pytester.path / "job.json"))
        plugins = ("-p", "no:cacheprovider", "-p", "pytest_eos.certificate.certify.after_failure")
        pytester.runpytest_inprocess(*plugins, "--eos-certificate=page.html", "--eos-seed=1", str(SUITE), *arguments)
        return json.loads((pytester.path / "page.json").read_text(encoding="utf-8"))

    return run


WITNESSES = {
    "OffsetAhead": """a task resumes right behind any committed offset:
        resumed behind {'next': 2} of {"stream":"s0"}, it does not go on with the next record:
        number 0 is b's0:2' at {'next': 4}, not b's0:1' at {'next': 3}""",
    "SharedOffset": """no source partition belongs to two tasks:
        two tasks own one source partition: {"source":"all streams"} belongs to tasks [0, 1];
        `task_configs` must give it to one""",
    "KeptState": """the same source gives the same records:
        a task that was given no offset starts behind what earlier tasks of this process have read, and gives no record,
        where one in a fresh process gives 24 records: it keeps its place in a class, a module or an object of this
        process; it must start from `context.offset(...)` alone""",
}


@pytest.mark.parametrize("bug", WITNESSES)
def test_a_planted_bug_is_found_with_a_witness_before_any_worker_runs(certified, bug):
    """CRT-06: offset one ahead, offset shared by tasks, state kept over a restart."""
    data = certified(f"{PLANTED}:{bug}")
    first = data["witness"][0]

    assert data["verdict"] == "failed"
    assert f"{first['sentence']}: {first['why']}" == " ".join(WITNESSES[bug].split())
    assert f"witness: {first['sentence']}" in list(summary(data))
    assert {one["why"] for one in data["not_tried"]} == {"a test before this one has failed"}


def test_a_scaffold_holds_against_all_that_is_tried(installed_entry_point, tmp_path):  # noqa: F811
    """CRT-06: `eosfw new connector`, installed, without tests of its own."""
    module = (EXAMPLE / "src" / "eosfw_counter" / "__init__.py").read_text(encoding="utf-8")
    python = installed_entry_point("eosfw-counter", "eosfw_counter", module)
    (tmp_path / "small.json").write_text(json.dumps({"name": "x", "config": {"until": 12, "batch.size": 4}}))
    left_out = [word for part in ("kills", "spark") for word in ("--without", part)]

    result = eosfw(python, "certify", "counter", "--properties", "small.json", "--json", "--seeds", "3", *left_out)
    data = json.loads(result.stdout)
    (connector,) = data["connectors"]

    assert (result.returncode, result.stderr) == (0, "")
    assert (data["verdict"], connector["distribution"], connector["version"]) == ("held", "eosfw-counter", "1.0")
    tried = {(one["kind"], one["who"]) for one in connector["attempts"]}
    assert tried == {("zombie", "task"), ("kill", "task"), ("zombie", "worker"), ("fault", "broker")}
    assert connector["comparisons_with_least_rights"] == 1
    assert connector["simulation"]["seeds"] == 3
    assert {one["why"] for one in data["not_tried"]} == {"left out by --without kills", "left out by --without spark"}
    assert data["badge"] == "[![exactly once: held](certificate-counter.svg)](certificate-counter.html)"
    assert {path.suffix for path in tmp_path.glob("certificate-counter.*")} == {".html", ".json", ".svg"}


def test_a_worker_process_is_killed_in_the_middle_of_a_commit(certified):
    """CRT-06: SIGKILL, then another worker goes on."""
    data = certified(COUNTER, "-k", "process_killed and commit")

    assert data["verdict"] == "held"
    (attempt,) = data["connectors"][0]["attempts"]
    assert (attempt["kind"], attempt["who"], attempt["at"], attempt["end"]) == (
        "kill",
        "worker process",
        "commit",
        "killed",
    )


SIMULATED = ("-k", process.SIMULATED)


def test_a_simulated_run_that_fails_is_a_witness_with_the_command_that_plays_it_again(certified):
    """CRT-07: the faults that are enough, what is wrong, a picture; the command alone fails in the same way."""
    data = certified(f"{PLANTED}:OffsetAhead", *SIMULATED)
    (witness,) = data["witness"]

    assert data["verdict"] == "failed"
    assert data["connectors"][0]["simulation"]["seeds"] <= 30
    assert "is not exactly once: " in witness["why"]
    assert "<svg" in witness["svg"]
    token = re.search(r"^play it again: eosfw certify counter --seed (\S+)$", witness["why"], re.MULTILINE)[1]
    again = certified(f"{PLANTED}:OffsetAhead", *SIMULATED, f"--eos-simulation-seed={token}")
    assert again["connectors"][0]["simulation"]["seeds"] == 1
    assert again["witness"][0]["why"].partition("play it again")[2] == witness["why"].partition("play it again")[2]


@pytest.mark.parametrize(
    ("kind", "given", "why"),
    [
        (f"{PLANTED}:Threaded", {}, "start (*planted.py:*) starts a thread of its own, which cannot be simulated: *"),
        (f"{PLANTED}:Checking", {}, "problems (*planted.py:*) starts a thread of its own, which cannot *"),
        (COUNTER, {"records": 24}, "a simulated run reads its source to the end, and this one has 24 records or more"),
        (COUNTER, {"simulation": "left out"}, "left out"),
    ],
    ids=["thread of a task", "thread of a connector", "long", "left out"],
)
def test_what_cannot_be_simulated_is_not_tried_with_the_reason(certified, kind, given, why):
    """CRT-07: no failure; the rest is tried."""
    data = certified(kind, "-k", f"{process.SIMULATED} or (zombie_adds_nothing and commit)", **given)

    assert data["verdict"] == "held"
    assert data["connectors"][0]["simulation"] is None
    (told,) = [one["why"] for one in data["not_tried"] if "whatever a seed draws" in one["what"]]
    assert fnmatch(told, why)


@pytest.mark.kafka
def test_a_connector_is_certified_on_a_real_kafka(certified, real_kafka):
    """CRT-08: what the embedded broker alone can do is not tried there, with the reason."""
    there = checked_environment(real_kafka, None, "confluent", "auto")
    chosen = f"(zombie_adds_nothing and commit) or least_rights or fault_of_the_broker or group or {process.SIMULATED}"
    data = certified(COUNTER, *there.arguments, "-k", chosen, **there.left_out)

    assert (data["verdict"], data["connectors"][0]["comparisons"]) == ("held", 1)
    assert "a Kafka cluster" not in [one["what"] for one in data["connectors"][0]["not_tried"]]
    assert {one["why"] for one in data["not_tried"]} >= set(there.left_out.values())


@pytest.mark.parametrize(
    ("backend", "clock", "left_out"),
    [
        ("memory", "auto", set()),
        ("memory", "real", {"simulation"}),
        ("confluent", "auto", {"groups", "simulation"}),
    ],
)
def test_what_an_environment_cannot_do_is_left_out(tmp_path, backend, clock, left_out):
    """CRT-08: on a cluster, also what needs the embedded broker."""
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nsasl.jaas.config=s3cret\n")
    here, there = checked_environment(None, None, backend, clock), checked_environment(None, file, backend, clock)

    assert set(here.left_out) == left_out
    assert set(there.left_out) == left_out | {"faults", "rights", "simulation"}
    assert "--eos-bootstrap-servers=a:1" in there.arguments
    assert "s3cret" not in str(there)


@pytest.mark.parametrize(
    ("text", "message"),
    [("ssl.x=s3cret", "names no bootstrap.servers"), (None, "cannot be read"), ("a=1\na=s3cret", "a second time")],
)
def test_a_wrong_file_for_the_client_is_reported_without_a_value(tmp_path, text, message):
    """Bad input: before anything runs."""
    if text is not None:
        (tmp_path / "client.properties").write_text(text)

    with pytest.raises(ConfigError, match=f"--command-config: .*{message}"):
        checked_environment(None, tmp_path / "client.properties", "memory", "auto")
    with pytest.raises(PluginError, match="Did you mean 'memory'"):
        checked_environment(None, None, "memry", "auto")


@pytest.mark.parametrize(
    ("name", "properties", "kind", "message"),
    [
        ("fil", {}, PluginError, "Did you mean 'file'"),
        ("file", {"fil": "a"}, ConfigError, "did you mean 'file'"),
    ],
)
def test_an_unknown_connector_or_property_is_refused_before_anything_runs(name, properties, kind, message):
    """Bad input: the nearest name is told, the exit code is that of a configuration."""
    with pytest.raises(kind, match=message):
        checked_target(name, properties)


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("none.properties", None, "there is no such file"),
        ("list.json", "[]", "is no JSON object of properties"),
        ("deep.json", '{"a": {"b": "s3cret"}}', "the value of a is no text, number or boolean"),
        ("broken.json", '{"a": s3cret}', "is no JSON: Expecting value in line 1"),
        ("twice.properties", "a=1\na=s3cret", "line 2 gives 'a' a second time"),
    ],
)
def test_a_wrong_file_of_properties_is_reported_without_a_value(tmp_path, file, text, message):
    """Bad input: such files hold secrets."""
    if text is not None:
        (tmp_path / file).write_text(text)

    with pytest.raises(ConfigError) as caught:
        read_properties(tmp_path / file)
    assert message in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_files_of_kafka_connect_are_read(tmp_path):
    """JSON as its REST interface takes it, with numbers and booleans; `.properties` as its scripts do."""
    (tmp_path / "a.json").write_text('{"name": "x", "config": {"connector.class": "y", "follow": true, "most": 3}}')
    (tmp_path / "b.properties").write_text("name=x\nconnector.class=y\nfollow=true\nmost=3\n")

    assert read_properties(tmp_path / "a.json") == read_properties(tmp_path / "b.properties")
    assert read_properties(tmp_path / "a.json") == {"follow": "true", "most": "3"}


def test_the_page_goes_where_it_can_be_written(tmp_path):
    """Bad input: found before the tests run; a name is made one of a file."""
    (tmp_path / "file").write_text("")

    assert checked_page(None, "a/b c") == Path("certificate-a-b-c.html")
    for wrong in ("page.txt", "file/page.html"):
        with pytest.raises(ConfigError, match="--output"):
            checked_page(tmp_path / wrong, "x")


def test_the_page_replaces_no_file_of_properties(tmp_path, monkeypatch):
    """Bad input: JSON and badge go beside the page, by its name."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ConfigError, match=r"the JSON beside orders.html would replace .*orders.json: take another name"
    ):
        checked_page(Path("orders.html"), "x", tmp_path / "orders.json")

    assert checked_page(Path("certified.html"), "x", tmp_path / "orders.json") == Path("certified.html")


def test_a_folder_that_takes_no_new_files_is_named_before_anything_runs(tmp_path, monkeypatch):
    """Bad input: no rights there, or a file system that is only read."""
    monkeypatch.setattr("os.access", lambda path, _: path != tmp_path)

    with pytest.raises(
        ConfigError, match=rf"--output: .*new/page.html cannot be written: {tmp_path} takes no new files"
    ):
        checked_page(tmp_path / "new" / "page.html", "x")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_terminated_certification_leaves_neither_tests_nor_properties(tmp_path):
    """Its process of pytest would go on alone, and the file with the connector's properties may hold secrets."""
    (tmp_path / "temporary").mkdir()
    (tmp_path / "lines.properties").write_text("file=lines.txt\n")
    (tmp_path / "lines.txt").write_text("one\ntwo\n")
    code = "import sys; from eosfw.cli import main; main(sys.argv[1:])"
    command = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, "certify", "file", "--properties", "lines.properties"],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    while command.poll() is None and not (tmp_path / "certificate-file.html").exists():
        ThreadRuntime().sleep(0.05)
    command.terminate()
    _, told = command.communicate(timeout=60)

    assert (command.returncode, told) == (130, b"eosfw: interrupted\n")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert json.loads((tmp_path / "certificate-file.json").read_text())["verdict"] == "nothing shown"


def test_a_simulated_run_is_named_by_its_seed_and_faults():
    """CRT-07: bad input; the command that is printed is one that the shell takes."""
    assert checked_seed("7:0") == "7:0"
    for wrong in ("x", "7:99"):
        with pytest.raises(ConfigError, match="--seed"):
            checked_seed(wrong)
    assert play_again("file", Path("a b.json"), 9) == "eosfw certify file --properties 'a b.json' --records 9 --seed "


def test_a_badge_says_the_verdict_and_leads_to_the_page():
    """CRT-06: no network."""
    drawn = badge("nothing shown")

    assert "exactly once: nothing shown" in drawn
    assert "href" not in drawn
    assert markdown("held", "a.svg", "a.html") == "[![exactly once: held](a.svg)](a.html)"
    assert markdown("held", "a b.svg", "a b.html") == "[![exactly once: held](a%20b.svg)](a%20b.html)"
