"""The blocks of every page run and give the shown output."""

from __future__ import annotations

import re

import pytest
from tests.docs.commands_run_elsewhere import COMMANDS_RUN_ELSEWHERE
from tests.docs.page_runner import NobodyRunsItError, Reader
from tests.docs.pages import PAGES, ROOT, WITH_BLOCKS, fences, marked
from tests.docs.terminal import Terminal, agrees, typed

LANGUAGES = {"python", "toml", "ini", "console"}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", [marked(page) for page in WITH_BLOCKS])
def test_pages_show_actual_output(page, tmp_path, needed):
    """Issue: every command and code block is run by a test."""
    needed(page)

    assert Reader(tmp_path).follow(page) == len(fences(page))


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_run(page):
    """A block in another language, or only indented, would never be run."""
    for block in fences(page):
        where = f"{page}:{(block.map or [0])[0] + 1}"
        assert block.type == "fence", f"{where}: an indented block; fence it and name its language"
        assert block.info in LANGUAGES, f"{where}: {block.info or 'no language'}; there are: {sorted(LANGUAGES)}"


@pytest.mark.parametrize("row", COMMANDS_RUN_ELSEWHERE, ids=lambda row: row.command)
def test_every_delegated_example_is_on_a_page_and_run_elsewhere(row):
    """A row that no page needs any more, or whose runner is gone, is stale."""
    commands = {one.command for page in PAGES for block in fences(page) for one in typed(block.content)}

    assert row.command in commands
    assert row.text in (ROOT / row.file).read_text(encoding="utf-8")


# --- the machinery itself: a test that cannot fail shows nothing


def followed(tmp_path, text):
    """Follow a page written for the test; how many blocks were run."""
    page = tmp_path / "page.md"
    page.write_text(text)
    folder = tmp_path / "folder"
    folder.mkdir()
    return Reader(folder).follow(str(page))


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```console\n$ echo one\ntwo\n```\n", "the page shows\ntwo"),
        ("```console\n$ false\n```\n", "status 1"),
        ("```console\n$ false\n$ true\n```\n", "status 1"),
        ("```console\necho one\n```\n", r"start with `\$ `"),
        ("```python\nraise AssertionError('one is not two')\n```\n", "one is not two"),
        ("```python\n# lonely.py\n```\n", "no command uses"),
        ("```toml\n[project]\nname = 'x'\n```\n", "no pipeline"),
        ('```toml\n[worker]\n"grup.id" = "x"\n```\n', "group.id"),
        ("```ini\n[pytest]\n```\n", "names no file"),
    ],
)
def test_a_wrong_page_is_reported(tmp_path, text, wrong):
    """Each kind of block can fail."""
    with pytest.raises(AssertionError, match=wrong):
        followed(tmp_path, text)


def test_a_correct_page_is_accepted(tmp_path):
    """Files are saved, folders entered, statuses and answers compared."""
    blocks = followed(
        tmp_path,
        "```python\n# one.py\nprint('a long answer')\n```\n"
        "```console\n$ mkdir deep && cd deep\n$ python ../one.py\na ... answer\n$ exit 3\n$ echo $?\n3\n```\n"
        "```python\nhalf = 21\n```\n\n```python\nassert half * 2 == 42\n```\n",
    )

    assert blocks == 4


def test_a_block_without_a_runner_fails_as_an_assertion():
    """The error for a block that no test runs is an AssertionError."""
    assert issubclass(NobodyRunsItError, AssertionError)


def test_output_is_compared_except_times_and_ports():
    """`...` stands for anything; times, ports vary; words do not."""
    assert agrees("12 records, 1.5 s", "12 records, 32.0 s")
    assert agrees("5 passed in 1.50s", "5 passed in 89.40s (0:01:29)")
    assert agrees("a\n...\nd", "a\nb\nc\nd\n")
    assert not agrees("12 records", "13 records")
    assert not agrees("a\n...", "b\na\nc")


def test_background_commands_end_with_the_terminal(tmp_path):
    """No server outlives its page."""
    terminal = Terminal(tmp_path)
    (one,) = typed("$ python -u -c 'import os, time; print(os.getpid()); time.sleep(600)' &\n...\n")

    terminal.type(one)
    process = terminal._background[0]
    terminal.close()

    assert process.returncode is not None
    assert re.fullmatch(r"-?\d+", str(process.returncode))
