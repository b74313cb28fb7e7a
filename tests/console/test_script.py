"""The script of the pages listens whenever somebody looks, whatever happens to the worker (UIC-06)."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files

import pytest

NODE = shutil.which("node")
PAGE = """
const sources = [], timers = [], listeners = [];
globalThis.EventSource = class {
  static CLOSED = 2;
  constructor(url) { this.url = url; this.readyState = 0; sources.push(this); }
  close() { this.readyState = 2; }
  refused() { this.readyState = 2; this.onerror(); }
};
globalThis.document = {
  hidden: false,
  getElementById: () => ({ dataset: {} }),
  querySelector: () => ({}),
  addEventListener: (name, listener) => listeners.push(listener),
};
globalThis.location = { pathname: "/ui/connectors/orders", search: "?asked=stop" };
globalThis.setTimeout = (call) => timers.push(call);
const look = (hidden) => { document.hidden = hidden; listeners.forEach((one) => one()); };
const wait = () => timers.splice(0).forEach((one) => one());
const listening = () => sources.filter((one) => one.readyState !== 2).map((one) => one.url);
const load = () => { new Function(SCRIPT)(); };
"""
URL = "/ui/live/connectors/orders?asked=stop"


def listening(steps: str) -> list[str]:
    """What a page listens to after these steps, in Node.js with a page that is made up."""
    if NODE is None:
        pytest.skip("the script of the pages runs in Node.js, which is not here")
    script = files("eosfw_console").joinpath("static", "console.js").read_text(encoding="utf-8")
    program = f"const SCRIPT = {json.dumps(script)};{PAGE}{steps};console.log(JSON.stringify(listening()))"
    done = subprocess.run([NODE, "-e", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ("load()", [URL]),
        ("load(); look(true)", []),
        ("load(); look(true); look(false)", [URL]),
        ("document.hidden = true; load()", []),
        ("document.hidden = true; load(); look(false)", [URL]),
        ("load(); sources[0].refused()", []),
        ("load(); sources[0].refused(); wait()", [URL]),
        ("load(); sources[0].refused(); wait(); sources[1].refused(); wait()", [URL]),
        ("load(); sources[0].refused(); look(true); wait()", []),
        ("load(); sources[0].refused(); look(true); look(false); wait()", [URL]),
    ],
)
def test_a_page_listens_once_while_somebody_looks_at_it(steps: str, expected: list[str]) -> None:
    """Also one that was opened in a tab behind, and one whose worker was started again."""
    assert listening(steps) == expected
