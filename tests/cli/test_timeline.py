"""`eosfw timeline` draws the events of an anomaly, a lane for each who acted (CHK-07)."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from checker.model_history import model_history, numbered
from checker.planted import planted
from cli.invocation import invoke
from eosfw.checker import Operation, check_history, write_history


def written(tmp_path: Path, history: list[Operation]) -> str:
    write_history(tmp_path / "history.jsonl", history)
    return str(tmp_path / "history.jsonl")


def words(picture: Path) -> list[str]:
    """The texts of a picture, which is well-formed and refers to nothing."""
    text = picture.read_text()
    assert "href" not in text
    return [found.text or "" for found in ET.fromstring(text).iter("{http://www.w3.org/2000/svg}text")]


def numbers(picture: Path) -> list[str]:
    return [text for text in words(picture) if text.startswith("no. ")]


@pytest.mark.parametrize("name", ["torn-transaction", "late-zombie"])
def test_the_picture_has_each_event_of_the_witness_and_a_lane_for_each_who_acted(tmp_path: Path, name: str) -> None:
    history = planted(name, model_history(1))
    result = invoke("timeline", written(tmp_path, history), "--anomaly", name)

    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == str(tmp_path / "history.svg")
    found = next(each for each in check_history(history).anomalies if each.name == name)
    assert numbers(tmp_path / "history.svg") == [f"no. {event.i:,}" for event in found.witness]
    assert {event.proc for event in found.witness} <= set(words(tmp_path / "history.svg"))


def test_events_that_are_named_are_drawn_although_there_is_no_anomaly(tmp_path: Path) -> None:
    picture = tmp_path / "part.svg"
    result = invoke("timeline", written(tmp_path, model_history(1)), "--events", "3:9", "--output", str(picture))

    assert result.returncode == 0, result.stderr
    assert numbers(picture) == [f"no. {number}" for number in range(3, 10)]


def test_a_value_of_a_record_is_text_in_the_picture_whatever_it_says(tmp_path: Path) -> None:
    value = "<script>&\0\x1b" * 10
    record = Operation(i=0, t=0, proc="log", op="log", type="ok", part="t-0", off=0, val=value)
    path = written(tmp_path, numbered([record]))

    assert invoke("timeline", path, "--events", "0:0").returncode == 0
    assert "".join(words(tmp_path / "history.svg")).count("<script>&") == 10


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ((), 3, "shows no anomaly; --events FIRST:LAST draws a part of it"),
        (("--events", "5:900"), 2, "60 events at the most"),
        (("--events", "9000:9001"), 2, "events, from 0"),
        (("--events", "9" * 5_000 + ":" + "9" * 5_000), 2, "60 events at the most"),
        (("--events", "1:2", "--anomaly", "duplicate"), 2, "not both"),
        (("--output", "picture.png"), 2, "end its name in .svg"),
        (("--events", "1:2", "--output", "no/such/folder.svg"), 3, "cannot be written"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], code: int, why: str
) -> None:
    result = invoke("timeline", written(tmp_path, model_history(1)), *arguments)

    assert result.returncode == code
    assert why in " ".join(result.stderr.split())


def test_a_folder_is_no_history() -> None:
    result = invoke("timeline", ".")

    assert (result.returncode, result.stderr) == (3, "eosfw: .: cannot be read: Is a directory\n")


def test_an_anomaly_that_is_not_there_is_refused_with_those_that_are(tmp_path: Path) -> None:
    result = invoke("timeline", written(tmp_path, planted("unseen", model_history(1))), "--anomaly", "duplicate")

    assert result.returncode == 3
    assert "shows unseen, and not duplicate" in " ".join(result.stderr.split())
