"""`eosfw new`: a project that is red when it is broken (green as written: tests/packaging); nothing is overwritten."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.child_pytest import WITHOUT_PLUGINS

from eosfw.cli.new.project_files import write
from eosfw.cli.new.project_kinds import CONFIG_PROVIDER, CONVERTER, TRANSFORM, ProjectKind
from eosfw.cli.new.project_names import LONGEST, ProjectNames, parse_name
from eosfw.errors import ConfigError, ExitCode

EXAMPLE = Path(__file__).parents[2] / "examples" / "counter"
PARTS = [TRANSFORM, CONVERTER, CONFIG_PROVIDER]


@pytest.fixture
def project(tmp_path) -> Path:
    """A project as generated."""
    folder = tmp_path / "project"
    write(ProjectNames("acme"), folder)
    return folder


def texts(folder: Path) -> dict[str, str]:
    """Every file by its place, but for what tools leave behind."""
    paths = (path for path in folder.rglob("*") if path.is_file() and "cache" not in str(path.relative_to(folder)))
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def outcome_of(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The project's own tests, run as its author runs them."""
    options = ["-p", "no:cacheprovider", "--color=no", *WITHOUT_PLUGINS]
    command = [sys.executable, "-B", "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def plant(project: Path, healthy: str, broken: str) -> None:
    source = project / "src" / "eosfw_acme" / "__init__.py"
    text = source.read_text(encoding="utf-8")
    assert text.count(healthy) == 1
    source.write_text(text.replace(healthy, broken), encoding="utf-8")


# --- what is written


def test_the_example_is_what_the_command_writes(tmp_path) -> None:
    """The example equals the output of `eosfw new connector counter --output examples/counter`."""
    write(ProjectNames("counter"), tmp_path / "counter")

    assert texts(EXAMPLE) == texts(tmp_path / "counter")


def test_a_connector_fits_on_a_screen() -> None:
    assert len((EXAMPLE / "src" / "eosfw_counter" / "__init__.py").read_text(encoding="utf-8").splitlines()) <= 64


def test_the_folder_goes_to_stdout_the_next_commands_to_stderr(command, tmp_path) -> None:
    """Data goes to stdout alone, so a script can take the folder from there."""
    run = command("new", "connector", "acme")

    assert (run.end(), run.out()) == (ExitCode.OK, "eosfw-acme\n")
    assert "    cd eosfw-acme " in run.err()
    assert "    python -m pytest " in run.err()
    assert (tmp_path / "eosfw-acme" / "src" / "eosfw_acme" / "__init__.py").is_file()


# --- what its tests are worth


def test_a_planted_bug_turns_them_red_and_is_explained(project) -> None:
    """A test that cannot fail shows nothing; tests/pytest_eos shows which bugs the contracts find."""
    plant(project, '{"next": number + 1}', '{"next": number + 2}')

    done = outcome_of(project, "-k", "resumes or commit")

    assert done.returncode == 1
    assert "FAILED tests/test_contract.py::TestAcme::test_a_task_resumes_right_behind_any_committed" in done.stdout
    assert "missing, though the committed source offsets lie behind them" in done.stdout
    assert "likely: offsets lead behind records" in done.stdout


def test_a_generated_connector_commits_many_records_at_a_time(project) -> None:
    """A transaction has a fixed cost, and authors keep the generated defaults."""
    code = (
        "import sys; sys.path.insert(0, 'src'); import eosfw_acme as acme\n"
        "config = acme.AcmeConnector.config.parse({'streams': '1', 'topic': 't'})\n"
        "(share,) = acme.AcmeConnector().task_configs(config, 1)\n"
        "task = acme.AcmeTask()\n"
        "task.start(task.config.parse(share), type('', (), {'offset': staticmethod(lambda _: None)}))\n"
        "print(len(task.poll()))"
    )
    message = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)

    assert int(message.stdout) == 500


# --- parts


@pytest.mark.parametrize("kind", PARTS, ids=lambda one: one.role)
def test_a_part_fits_on_a_screen(tmp_path: Path, kind: ProjectKind) -> None:
    """PLG-19: twenty lines of code, with what explains them."""
    write(ProjectNames("acme"), tmp_path / "project", kind)

    source = (tmp_path / "project" / "src" / "eosfw_acme" / "__init__.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 50


def test_the_command_of_a_part_says_what_comes_next(command, tmp_path) -> None:
    """PLG-19: the folder goes to stdout alone."""
    run = command("new", "config-provider", "acme", "--output", "mine")

    assert (run.end(), run.out()) == (ExitCode.OK, "mine\n")
    assert "eosfw: wrote a config provider that works, with its tests; next:\n    cd mine " in run.err()
    assert (tmp_path / "mine" / "src" / "eosfw_acme" / "__init__.py").is_file()


# --- bad input


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Acme", "; try 'acme'"),
        ("AcmeCrm", "; try 'acme-crm'"),
        ("acme_crm", "; try 'acme-crm'"),
        ("Größe 2", "; try 'groe-2'"),
        ("-acme-", "; try 'acme'"),
        ("2nd", "; try 'nd'"),
        ("../acme", "; try 'acme'"),
        ("eosfw-acme", "; try 'acme'"),
        ("x" * (LONGEST + 1), f"; try '{'x' * LONGEST}'"),
        ("acme\n", "; try 'acme'"),
        ("", "at most 40 characters"),
        ("日本", "at most 40 characters"),
    ],
)
def test_an_invalid_project_name_is_refused_with_the_nearest_valid_one(name, hint) -> None:
    with pytest.raises(ValueError, match=f"{re.escape(hint)}$"):
        parse_name(name)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["conector", "x"], ExitCode.USAGE, "no command 'conector'; did you mean 'connector'?"),
        (["zzz"], ExitCode.USAGE, "no command 'zzz'; there are: connector, transform, converter, config-provider"),
        ([], ExitCode.USAGE, "Missing command"),
        (["connector"], ExitCode.USAGE, "Missing argument 'NAME'"),
        (["connector", "Acme Corp"], ExitCode.USAGE, "try 'acme-corp'"),
        (["connector", "raising"], ExitCode.CONFIGURATION, "testkit 9.9 offers a connector of that name"),
        (["converter", "json"], ExitCode.CONFIGURATION, "offers a converter of that name"),
        (["transform", "Mask Names"], ExitCode.USAGE, "try 'mask-names'"),
        (["transform", "spark"], ExitCode.CONFIGURATION, "eosfw-spark"),
        (["transform", "acme", "--output", "site"], ExitCode.CONFIGURATION, "site: exists already"),
        (["connector", "spark"], ExitCode.CONFIGURATION, "eosfw-spark"),
        (["connector", "acme", "--output", "/dev/null/acme"], ExitCode.CONFIGURATION, "/dev/null/acme: cannot be"),
        (["connector", "acme", "--output", "site"], ExitCode.CONFIGURATION, "site: exists already"),
    ],
)
def test_an_unwritable_project_is_reported_with_one_sentence_and_exit_code(command, arguments, code, message) -> None:
    """2 for a wrong command line, 3 for what stands in its way."""
    run = command("new", *arguments)

    assert (run.end(), run.out()) == (code, "")
    assert message in run.err()
    assert len(run.err().splitlines()) == 1


def test_an_existing_file_at_the_project_path_is_kept(tmp_path) -> None:
    (tmp_path / "project").write_text("mine")

    with pytest.raises(ConfigError, match="nothing is overwritten"):
        write(ProjectNames("acme"), tmp_path / "project")

    assert (tmp_path / "project").read_text() == "mine"


def test_a_project_that_cannot_be_completed_leaves_nothing(tmp_path, monkeypatch) -> None:
    """A full disk half-way: the same command works once there is room."""

    def full(path: Path, *_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
            write(ProjectNames("acme"), tmp_path / "project")

    assert not (tmp_path / "project").exists()
    write(ProjectNames("acme"), tmp_path / "project")
