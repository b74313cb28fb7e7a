"""Record the public classes and methods of Kafka Connect's API, which `connect_api.toml` has to answer.

    python docs/reference/record_connect_api.py connect-api-4.1.1.jar

The jar is the artifact `org.apache.kafka:connect-api`; `javap` is part of a JDK. It is needed after an update of
Kafka alone: what was recorded is in `connect_api_4.1.txt`, a member to a line.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

RECORDED = Path(__file__).with_name("connect_api_4.1.txt")
ROOT = "org.apache.kafka.connect."
PACKAGES = (
    "components", "connector", "connector.policy", "data", "errors", "header", "health", "rest", "source", "storage",
    "transforms", "transforms.predicates", "util",
)  # fmt: skip
_CLASS = re.compile(r"^public .*\b(?:class|interface) ([\w.$]+)")
_METHOD = re.compile(r"^  (?:public|protected) .*?([\w.$]+)\((.*?)\)")
_FIELD = re.compile(r"^  public .*?(\w+);$")


def recorded(jar: Path) -> Iterator[str]:
    """The lines of the file."""
    for name in sorted(_classes(jar)):
        shown = subprocess.run(
            ["javap", "-cp", str(jar), "-protected", name], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        declared = next((match for line in shown if (match := _CLASS.match(line))), None)
        if declared is None:
            continue  # neither public nor protected
        short = name.removeprefix(ROOT)
        yield short
        yield from sorted({f"{short}#{member}" for line in shown if (member := _member(line, name)) is not None})


def _member(line: str, cls: str) -> str | None:
    if method := _METHOD.match(line):
        return None if method[1] in (cls, cls.replace("$", ".")) else method[1]  # a constructor is its class
    field = _FIELD.match(line)
    return None if field is None or "(" in line else field[1]


def _classes(jar: Path) -> Iterator[str]:
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            name = entry.removesuffix(".class").replace("/", ".")
            package = name.removeprefix(ROOT).rpartition(".")[0]
            if entry.endswith(".class") and package in PACKAGES and not re.search(r"\$\d", name):
                yield name


if __name__ == "__main__":
    RECORDED.write_text("\n".join(recorded(Path(sys.argv[1]))) + "\n", encoding="utf-8")
