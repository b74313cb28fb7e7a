"""Check the framework's messages in an environment without any other distribution."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PIPELINE = """
[cluster]
backend = "confluent"

[worker]
"group.id" = "bare"

[connectors.lines]
"connector.class" = "file"
file = "lines.txt"
topic = "lines"
"""


def eosfw(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "eosfw"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def expect(what: str, holds: bool, got: object) -> None:  # noqa: FBT001 - reads as a sentence
    if not holds:
        sys.exit(f"bare: expected {what}; got: {got}")
    print(f"bare: {what}")


def main() -> None:
    """Run every check; end with status 1 at the first that fails."""
    for module in ("confluent_kafka", "pyspark", "kio", "kafka", "pytest"):
        probe = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
        expect(f"{module} is absent here", probe.returncode != 0, "it can be imported")

    version = eosfw("--version")
    expect("`eosfw --version` answers", version.returncode == 0 and version.stdout.startswith("eosfw "), version)

    plugins = eosfw("plugins", "--json")
    rows = json.loads(plugins.stdout)
    own = {row["distribution"] for row in rows["plugins"]}
    expect("`eosfw plugins` lists the framework's own parts alone", own == {"eosfw"} and not rows["failures"], plugins)

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lines.txt").write_text("1\n")
        Path(folder, "pipeline.toml").write_text(PIPELINE)
        run = eosfw("run", str(Path(folder, "pipeline.toml")))
    expect("`eosfw run` ends with status 3, a wrong configuration", run.returncode == 3, run)
    for needed in ("confluent", "file"):
        expect(f"it tells how to get {needed}", f"pip install 'eosfw[{needed}]'" in run.stderr, run.stderr)

    doctor = eosfw("doctor")
    expect("`eosfw doctor` finds nothing broken: what is optional may be absent", doctor.returncode == 0, doctor)
    for absent in ("memory", "confluent", "kafka-python", "file", "spark", "demo"):
        expect(f"it tells how to get {absent}", f"pip install 'eosfw[{absent}]'" in doctor.stdout, doctor.stdout)
    expect("it says nothing on stderr", not doctor.stderr, doctor.stderr)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pipeline.toml").write_text(PIPELINE)
        asked = eosfw("doctor", "--json", str(Path(folder, "pipeline.toml")))
    broken = [one["found"] for one in json.loads(asked.stdout)["findings"] if one["health"] == "broken"]
    expect("`eosfw doctor` of a file that needs more ends with status 3", asked.returncode == 3, asked)
    for needed in ("confluent", "file"):
        expect(f"it names {needed}", any(f"pip install 'eosfw[{needed}]'" in found for found in broken), broken)

    for command, install in (("demo", "pip install 'eosfw[demo]'"), ("certify", "pip install pytest-eos")):
        missing = eosfw(command)
        expect(f"`eosfw {command}` tells how to get it", install in missing.stderr, missing.stderr)


if __name__ == "__main__":
    main()
