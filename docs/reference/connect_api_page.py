"""Write docs/reference/connect-api.md: Kafka Connect's Java API and ours; a test finds the page out of date.

`connect_api_4.1.txt` is what `record_connect_api.py` found in Kafka Connect, `connect_api.toml` answers it.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).with_name("connect-api.md")
RECORDED = Path(__file__).with_name("connect_api_4.1.txt")
ANSWERS = Path(__file__).with_name("connect_api.toml")
HEAD = """# Connect's Java API and ours

What stands for each public class and method of Kafka Connect 4.1 in the packages that an author of a connector,
converter, transformation or predicate imports (`org.apache.kafka.connect.*`). Sink connectors are
[left out](omissions.md). An unlinked sentence says why there is nothing. This page is made from `connect_api.toml` by
`python docs/reference/connect_api_page.py`; a test compares it with the list of members of Connect's own jar.
"""
_OURS = re.compile(r"(eosfw[\w.]*):([\w.]+)(?:; (.+))?")
_ANY = "*"
_CLASS = "class"


def page() -> str:
    """The whole page."""
    packages = defaultdict[str, list[str]](list)
    for cls in java():
        packages[cls.rpartition(".")[0]].append(cls)
    lines = [HEAD]
    for package, classes in packages.items():
        lines += [
            f"## {package}\n",
            "| Java | eosfw |",
            "|---|---|",
            *(row for cls in classes for row in _rows(cls)),
            "",
        ]
    return "\n".join(lines)


def java() -> dict[str, list[str]]:
    """The members of each class of Kafka Connect."""
    found: dict[str, list[str]] = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        cls, _, member = line.partition("#")
        found.setdefault(cls, []).extend([member] if member else [])
    return found


def answers() -> dict[str, Mapping[str, str]]:
    """What stands for each class, and for each of its members."""
    return tomllib.loads(ANSWERS.read_text(encoding="utf-8"))


def problems(members: Mapping[str, Sequence[str]], given: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Where the answers do not fit to what Kafka Connect has, or to what we have, a sentence each."""
    for cls in given.keys() - members.keys() - {_ANY}:
        yield f"{cls} is no class of Kafka Connect"
    for cls, names in members.items():
        for name in given.get(cls, {}).keys() - {*names, _CLASS, _ANY}:
            yield f"{cls} has no member {name}"
        for name in (_CLASS, *names):
            if (found := answer(cls, name, given)) is None:
                yield f"nothing is said of {cls}#{name}"
            elif not found.startswith("- ") and not exists(found):
                yield f"{cls}#{name}: there is no {found}"


def answer(cls: str, member: str, given: Mapping[str, Mapping[str, str]]) -> str | None:
    """What is said of a member: by its class, else of its name in general, else of the rest of the class."""
    own = given.get(cls, {})
    return own.get(member) or given[_ANY].get(member) or (own.get(_ANY) if member != _CLASS else None)


def exists(text: str) -> bool:
    """Whether a `module:name` of ours is there."""
    parsed = _OURS.fullmatch(text)
    if parsed is None:
        return False
    *path, last = parsed[2].split(".")
    try:
        found: object = importlib.import_module(parsed[1])
        for name in path:
            found = getattr(found, name)
    except (ImportError, AttributeError):
        return False
    return hasattr(found, last) or last in _declared(found)


def _declared(cls: object) -> set[str]:
    """The attributes that a class only annotates."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    return fields | {name for base in getattr(cls, "__mro__", ()) for name in getattr(base, "__annotations__", {})}


def _rows(cls: str) -> Iterator[str]:
    given, by_answer = answers(), defaultdict[str, list[str]](list)
    yield f"| **{cls.rpartition('.')[2].replace('$', '.')}** | {_shown(answer(cls, _CLASS, given) or '')} |"
    for member in java()[cls]:
        by_answer[answer(cls, member, given) or ""].append(f"`{member}`")
    for text, members in by_answer.items():
        yield f"| {', '.join(members)} | {_shown(text)} |"


def _shown(text: str) -> str:
    if (parsed := _OURS.fullmatch(text)) is None:
        return text.removeprefix("- ")
    remark = "" if parsed[3] is None else f"; {parsed[3]}"
    return f"`{parsed[1]}.{parsed[2]}`{remark}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
