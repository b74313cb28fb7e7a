"""The page of a certificate: what it says of good, bad and empty runs, and what it never says."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from textwrap import dedent

import pytest

import pytest_eos.certificate.plugin
import pytest_eos.fixtures
import pytest_eos.harness  # noqa: F401 - here, so that each test inside a test need not import them again
from pytest_eos.certificate.redaction import Redaction
from pytest_eos.environment.config.installed_plugins import installed_plugins

pytest_plugins = ("pytester",)
installed_plugins().imported()
ROOT = Path(__file__).parents[3]
HEAD = """
import pytest
from eosfw.config import ConfigDef, Password
from tests.pytest_eos.counter import CounterConnector, CounterTask
SMALL = {"until": 4, "batch": 2}
"""
GOOD = """
@pytest.mark.eos_zombie(at=["init-producer", "commit"])
def test_a_zombie_adds_nothing(eos):
    run = eos.run(CounterConnector, SMALL)
    eos.assert_exactly_once(run, run.source_records())
"""
BAD = """
def test_a_record_is_missing(eos):
    run = eos.run(CounterConnector, SMALL)
    eos.assert_exactly_once(run, [b"s0:0", b"no such record"])
"""


def certified(pytester, test, *arguments):
    """Run a test file; return the text of the page, and its data."""
    pytester.makepyfile(HEAD + dedent(test))
    options = ("-p", "no:cacheprovider", "--eos-certificate=page.html", *arguments)
    result = pytester.runpytest_inprocess(*options, no_reraise_ctrlc=True)
    page = (pytester.path / "page.html").read_text(encoding="utf-8")
    return result, page, json.loads((pytester.path / "page.json").read_text(encoding="utf-8"))


class Structure(HTMLParser):
    """The tags of a page, its attributes that load something, and its text without tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loads: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.loads += [f"{name}={value}" for name, value in attrs if name in ("src", "href") or name.startswith("on")]

    def handle_data(self, data):
        self.text += data


def test_a_good_run_says_what_was_promised_tried_and_not_tried(pytester):
    """CRT-01: the verdict, each zombie with its fate, the picture of the worst case, versions."""
    result, page, data = certified(pytester, GOOD)
    shown = Structure(page)
    (connector,) = data["connectors"]

    result.stdout.fnmatch_lines(["certificate: held: counter held against 2 attempts to break it: *page.html"])
    assert data["verdict"] == "held"
    assert [(one["at"], one["end"], one["times"]) for one in connector["attempts"]] == [
        ("init-producer", "stopped", 1),
        ("commit", "fenced", 1),
    ]
    assert connector["promises"][0]["exactly_once_support"] == "supported"
    assert {"eosfw", "pytest-eos", "Python", "eosfw-memory", "broker"} <= set(data["versions"])
    missing = {one["what"]: one["why"] for one in connector["not_tried"]}
    assert missing["what Spark reads"] == "no test of this connector has read its records with the fixture `eos_spark`"
    assert "a zombie of a task at these steps: request-fencing, check-task-count" in " ".join(missing)
    assert "refused by the cluster (fenced)" in shown.text
    assert re.search("frozen at .* before commit", connector["worst_case"]["svg"])
    # without network, without script
    assert shown.tags & {"script", "link", "img", "iframe", "object"} == set()
    assert shown.loads == []
    assert set(re.findall(r"https?://[^\s\"]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert {"svg", "table"} <= shown.tags


def test_simulated_runs_are_counted_with_their_faults_and_rare_states(pytester):
    """CRT-07: by seeds, events, faults that happened and states that were reached; alone they show something."""
    test = """
    @pytest.mark.eos_simulation(seeds=4)
    def test_orders_are_there_once(eos): eos.run(CounterConnector, SMALL)
    """
    result, page, data = certified(pytester, test, "--eos-seed=1", "--eos-simulation-coverage=coverage.json")
    counted = data["connectors"][0]["simulation"]
    shown = Structure(page).text

    result.assert_outcomes(passed=1)
    assert (data["verdict"], data["connectors"][0]["comparisons"]) == ("held", 4)
    assert counted == json.loads((pytester.path / "coverage.json").read_text())
    assert data["headline"] == f"counter held against {sum(counted['fired'].values())} faults in 4 simulated runs"
    assert f"{counted['events']:,} turns and steps" in shown
    assert "another worker led" in shown
    assert "simulated runs" not in [one["what"] for one in data["connectors"][0]["not_tried"]]


def test_a_failed_run_says_so_with_the_witness(pytester):
    """CRT-02: whatever else was good."""
    result, page, data = certified(pytester, GOOD + BAD)

    assert result.ret == 1
    assert data["verdict"] == "failed"
    assert "Not exactly once" in Structure(page).text
    (witness,) = data["witness"]
    assert witness["sentence"] == "a record is missing"
    assert "no such record" in witness["why"]
    assert "no such record" in Structure(page).text


def test_a_failure_behind_a_test_is_a_failure_of_it(pytester):
    """CRT-02: such as that of a fixture that is torn down."""
    torn = """
    @pytest.fixture(autouse=True)
    def connection():
        yield
        pytest.fail("the connection was lost")
    """
    _, _, data = certified(pytester, dedent(torn) + GOOD)

    assert data["verdict"] == "failed"
    assert data["witness"][0]["why"] == "the connection was lost"


@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("def test_nothing(): pass", "No test ran a connector."),
        (
            GOOD.partition("\n")[2].partition("\n")[2],
            "counter: no zombie was raised and nothing was killed, so nothing was tried that could break it.",
        ),
        (
            '@pytest.mark.eos_zombie(at="commit")\ndef test_it(eos): eos.run(CounterConnector, SMALL)',
            "counter: its zombies were raised, but no test compared the records with those of the source.",
        ),
        (
            "class Vague(CounterConnector): exactly_once_support = lambda self, config: None\n"
            + GOOD.replace("(CounterConnector", "(Vague"),
            "counter: it does not say that it is exactly once (`exactly_once_support`: unknown).",
        ),
    ],
    ids=["no connector", "no zombie", "no comparison", "no promise"],
)
def test_a_run_that_tries_nothing_shows_nothing(pytester, test, why):
    """CRT-03: without zombies, without a comparison, without a promise."""
    result, page, data = certified(pytester, test)

    assert (result.ret, data["verdict"], data["why"]) == (0, "nothing shown", why)
    assert "Nothing shown" in Structure(page).text


def test_what_is_skipped_deselected_or_expected_to_fail_is_not_good(pytester):
    """CRT-03: a promise that is expected to be broken does not hold."""
    more = """
    def test_it_reads_a_table():
        pytest.skip("there is no database")

    def test_left_out(): pass

    @pytest.mark.xfail(reason="not mended yet")
    def test_order(): assert 1 == 2
    """
    result, _, data = certified(pytester, GOOD + dedent(more), "-k", "not left_out")

    assert result.ret == 0
    assert data["verdict"] == "failed"
    assert data["witness"][0]["why"].startswith("it is expected to fail: not mended yet")
    assert {one["what"]: one["why"] for one in data["not_tried"]} == {
        "it reads a table": "there is no database",
        "1 test": "deselected by the call of pytest",
    }


def test_a_run_that_does_not_end_leaves_no_good_page(pytester):
    """CRT-02: the page of an earlier run is replaced at the start, not at the end."""
    (pytester.path / "page.html").write_text("exactly once")

    _, _, data = certified(
        pytester,
        """
        def test_the_page_of_a_run_that_is_not_over(pytestconfig):
            page = (pytestconfig.rootpath / "page.html").read_text()
            assert "Nothing shown" in page and "the run has not come to its end" in page

        def test_it_is_interrupted():
            raise KeyboardInterrupt
        """,
    )

    assert data["verdict"] == "nothing shown"
    assert data["why"] == "Nothing can be said: the run was interrupted."
    assert [one["outcome"] for one in data["tests"]] == ["passed"]


def test_a_run_that_a_test_ends_early_shows_nothing(pytester):
    """CRT-02: whatever exit code it asks for."""
    stop = """
    def test_it_is_enough():
        pytest.exit("enough for today", returncode=0)

    def test_nobody_gets_here(): raise AssertionError
    """
    result, _, data = certified(pytester, GOOD + dedent(stop))

    assert result.ret == 0
    assert (data["verdict"], data["why"]) == ("nothing shown", "Nothing can be said: the run was interrupted.")


def test_a_module_that_cannot_be_imported_fails_the_certificate(pytester):
    """CRT-02: its tests are unknown."""
    result, _, data = certified(pytester, "import no_such_module")

    assert result.ret == 2
    assert data["verdict"] == "failed"
    assert "No module named 'no_such_module'" in data["witness"][0]["why"]


def test_hostile_names_and_values_stay_text(pytester):
    """CRT-04: of tests, connectors, records."""
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>&amp;\\u202e\\x00\\udc80"
    result, page, _ = certified(
        pytester,
        f"""
        EVIL = "{evil}"

        class EvilTask(CounterTask):
            def record(self, stream, number):
                from dataclasses import replace
                return replace(super().record(stream, number), value=EVIL.encode(errors="replace"))

        class Evil(CounterConnector):
            version, task = EVIL, EvilTask
        Evil.__qualname__ = EVIL

        @pytest.mark.parametrize("value", [1], ids=["<script>alert(3)</script>"])
        def test_values(eos, value):
            eos.assert_exactly_once(eos.run(Evil, SMALL), [EVIL, "<b>other</b>"], key="value")
        """,
    )
    shown = Structure(page)

    result.assert_outcomes(failed=1)
    assert shown.tags & {"script", "img", "b"} == set()
    assert shown.loads == []
    assert "<script>alert(1)</script>" in shown.text
    assert "\\u202e\\x00" in shown.text
    assert not {"\u202e", "\x00"} & set(page)


def test_no_secret_of_a_connector_is_on_the_page(pytester):
    """CRT-05: not even in the message of a failure, in whatever way it is written there."""
    result, page, data = certified(
        pytester,
        """
        from urllib.parse import quote

        SECRETS = {"key": "hunter2 'quoted'", "login.secret": "s3cr3t/slash"}

        class Telling(CounterConnector):
            config = ConfigDef(*CounterConnector.config.keys.values(), Password("key"), Password("login.secret"))

        @pytest.mark.parametrize("secret", ["s3cr3t/slash"])
        def test_it(eos, secret):
            eos.run(Telling, SMALL | SECRETS)
            told = [repr(SECRETS["key"]), quote(secret, safe=""), "postgres://user:pass-w0rd@db/shop"]
            pytest.fail(" ".join(told) + secret)
        """,
    )

    result.assert_outcomes(failed=1)
    assert data["witness"][0]["why"].startswith('"[hidden]" [hidden] postgres://[hidden]@db/shop')
    for secret in ("hunter2", "s3cr3t", "pass-w0rd", "postgres://user"):
        assert secret not in page
        assert secret not in json.dumps(data)


def test_a_short_secret_hides_no_letters_of_words():
    """CRT-05: a password `a` must not make the page unreadable."""
    redaction = Redaction()
    redaction.add(["a", " "])

    assert redaction.text("a task ran a") == "[hidden] task ran [hidden]"


def test_the_controller_of_xdist_writes_what_its_worker_saw(pytester, monkeypatch):
    """CRT-01: the controller gathers what its workers saw."""
    pytest.importorskip("xdist")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(HEAD + GOOD)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--eos-certificate=page.html", "-n", "1")
    data = json.loads((pytester.path / "page.json").read_text(encoding="utf-8"))

    assert result.ret == 0
    assert (data["verdict"], len(data["tests"])) == ("held", 2)
    assert [(one["at"], one["end"]) for one in data["connectors"][0]["attempts"]] == [
        ("init-producer", "stopped"),
        ("commit", "fenced"),
    ]


@pytest.mark.parametrize(("name", "why"), [("page.json", "must end in .html"), ("file/page.html", "below a file")])
def test_a_page_that_cannot_be_written_is_refused_before_any_test(pytester, name, why):
    """Bad input: a long run must not end without its page."""
    (pytester.path / "file").write_text("")
    pytester.makepyfile("def test_it(): pass")

    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", f"--eos-certificate={name}")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--eos-certificate: '{name}'*{why}*"])
