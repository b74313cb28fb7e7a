"""Run a page as a reader would: save its files, type its commands, execute its Python, in the order of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from sybil import Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser
from tests.docs.commands_run_elsewhere import COMMANDS_RUN_ELSEWHERE, CommandRunElsewhere
from tests.docs.pages import ROOT
from tests.docs.terminal import Terminal, typed

from installation import install
from ports import free_port

_NAME = re.compile(r"\A# ([\w./-]+\.(?:py|toml|ini|sql|properties))\n")
_ADDRESS = re.compile(r"(?:127\.0\.0\.1|localhost|0\.0\.0\.0):(9092|8083|8081)\b")
_PIPELINE = {"cluster", "worker", "connectors", "steps"}
_REST = {
    "worker": '[worker]\n"group.id" = "docs"',
    "connectors": '[connectors.docs]\n"connector.class" = "file"\nfile = "examples/first-steps/data"\ntopic = "docs"',
}
_EDITABLE = "pip install -e ."
_DATABASE = "/tmp/shop-db"
"""Where pages have a PostgreSQL."""


class NobodyRunsItError(AssertionError):
    """A block that neither this test nor a named other one runs."""


class Reader:
    """Runs one page in an empty folder with a copy of `examples/`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._python = PythonEvaluator()
        self._addresses = {port: f"127.0.0.1:{free_port()}" for port in ("9092", "8083", "8081")}
        # Where a command that names no worker looks for one.
        self._terminal = Terminal(folder, {"EOSFW_REST_URL": f"http://{self._addresses['8083']}"})
        # As root a PostgreSQL runs under another user, to whom pytest's folders are closed.
        self._database = TemporaryDirectory(prefix="docs-")
        Path(self._database.name).chmod(0o755)
        self._unused: dict[str, int] = {}
        self.met: set[CommandRunElsewhere] = set()
        """What was left to others."""
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("output", "__pycache__"))

    def follow(self, page: str) -> int:
        """Run every block of a page; give how many there were."""
        kinds = {"python": self._run_python, "toml": self._run_toml, "ini": self._save, "console": self._run_console}
        parsers = [CodeBlockParser(language, _evaluator(run)) for language, run in kinds.items()]
        here = Path.cwd()
        examples = list(Sybil(parsers=parsers).parse(ROOT / page).examples())
        os.chdir(self._folder)
        try:
            for example in examples:
                example.evaluate()
            self._terminal.settle()
        finally:
            os.chdir(here)
            self._terminal.close()
            self._database.cleanup()
        if self._unused:
            raise NobodyRunsItError(f"{page}: files that no command uses: {self._unused}")
        return len(examples)

    def _text(self, example: Example) -> str:
        # Pages say 9092, 8083 and 8081; tests run side by side.
        text = _ADDRESS.sub(lambda found: self._addresses[found[1]], str(example.parsed))
        return text.replace(_DATABASE, f"{self._database.name}/shop")

    def _saved(self, example: Example) -> bool:
        """Whether the block names a file in its first line, and so was saved."""
        text = self._text(example)
        named = _NAME.match(text)
        if named is None:
            return False
        path = self._folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self._unused[named[1]] = example.line
        return True

    def _save(self, example: Example) -> None:
        if not self._saved(example):
            raise NobodyRunsItError(f"{example.path}:{example.line}: the first line names no file")

    def _run_python(self, example: Example) -> None:
        if not self._saved(example):
            self._python(example)

    def _run_toml(self, example: Example) -> None:
        if self._saved(example):
            return
        text = self._text(example)
        tables = set(tomllib.loads(text))
        if not tables <= _PIPELINE:
            raise NobodyRunsItError(f"{example.path}:{example.line}: no pipeline, and its first line names no file")
        path = self._folder / f"line-{example.line}.toml"
        path.write_text(_completed(text, tables), encoding="utf-8")
        check = ["eosfw", "run", "--check", path.name]
        environment = self._terminal.environment
        done = subprocess.run(check, capture_output=True, text=True, check=False, env=environment, cwd=self._folder)
        assert done.returncode == 0, f"{example.path}:{example.line}: {done.stdout}{done.stderr}"

    def _run_console(self, example: Example) -> None:
        commands = list(typed(self._text(example)))
        if not commands:
            raise NobodyRunsItError(f"{example.path}:{example.line}: a console block has lines that start with `$ `")
        for one in commands:
            self._use(one.command)
            run_elsewhere = next((row for row in COMMANDS_RUN_ELSEWHERE if row.command == one.command), None)
            if run_elsewhere is not None:
                self.met.add(run_elsewhere)
            elif one.command == _EDITABLE:
                self._install()
            else:
                self._terminal.type(one)

    def _use(self, command: str) -> None:
        whole = re.search(r"\bpytest(?! [^-])", command) is not None or command == _EDITABLE
        used = [name for name in self._unused if whole or name in command or Path(name).stem in command]
        for name in used:
            del self._unused[name]

    def _install(self) -> None:
        """Do what an editable installation amounts to: a path, the metadata of entry points."""
        project = tomllib.loads((self._folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = [
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in members.items())
            for group, members in project.get("entry-points", {}).items()
        ]
        install(self._folder, project["name"], "".join(points), project["version"])
        path = [str(self._folder), str(self._folder / "src"), os.environ.get("PYTHONPATH", "")]
        self._terminal.environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))


def _evaluator(run: Callable[[Example], None]) -> Callable[[Example], None]:
    def evaluate(example: Example) -> None:
        run(example)

    return evaluate


def _completed(text: str, tables: set[str]) -> str:
    """A fragment of a pipeline file with what every pipeline needs."""
    return "\n".join([text, *(whole for name, whole in _REST.items() if name not in tables)])
