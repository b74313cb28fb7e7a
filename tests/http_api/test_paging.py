"""Each way of paging goes on exactly behind what was read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eosfw.errors import ConfigError, DamagedDataError

from .reading import PAGINGS, properties, reading
from .served_api import Reply, ServedApi, served

SINCE = {"incremental_path": "changed", "incremental_parameter": "since"}


def rows(count, first=0):
    return [{"id": one, "changed": one // 3} for one in range(first, first + count)]


@pytest.fixture
def api():
    with served(ServedApi(rows(10))) as one:
        yield one


@pytest.fixture(scope="module")
def shared():
    with served(ServedApi([])) as one:
        yield one


@pytest.mark.parametrize("paging", PAGINGS)
def test_a_new_task_goes_on_behind_any_record(api, paging):
    """HTP-02: with the offset of each single record, on each page."""
    with reading(properties(api.url, paging), record_offsets=True) as first:
        assert first.rest() == list(range(10))
    for number, offset in enumerate(first.record_offsets):
        with reading(properties(api.url, paging), offset) as other:
            assert other.rest() == list(range(number + 1, 10))


@pytest.mark.parametrize("paging", PAGINGS)
def test_what_a_list_grows_by_is_read(api, paging):
    """HTP-02: on its last page, full or not, and behind it."""
    with reading(properties(api.url, paging)) as task:
        found = task.rest()
        for more in (1, 1, 1, 9, 0, 4):
            api.records += rows(more, len(api.records))
            found += task.rest()
    assert found == list(range(26))


def test_a_list_without_pages_is_read_again_for_what_it_grew_by(api):
    """HTP-02: with paging = none."""
    api.size = 100
    with reading(properties(api.url, "none")) as task:
        assert task.rest() == list(range(10))
        api.records += rows(2, 10)
        assert task.rest() == [10, 11]


@settings(max_examples=25)
@given(
    before=st.integers(1, 7),
    after=st.integers(1, 7),
    polls=st.integers(0, 5),
    pagings=st.permutations(["page", "offset"]),
)
def test_another_page_size_repeats_and_loses_nothing(shared, before, after, polls, pagings):
    """HTP-02: pages are named by the records before them; so pages and offsets may replace each other, too."""
    shared.records, shared.size = rows(20), before
    with reading(properties(shared.url, pagings[0], page_size=before)) as first:
        found = [one for _ in range(polls) for one in first.poll()]
    shared.size = after
    with reading(properties(shared.url, pagings[1], page_size=after), first.offset) as second:
        assert found + second.rest() == list(range(20))


@settings(max_examples=25)
@given(times=st.lists(st.integers(0, 3), max_size=16), size=st.integers(1, 5), data=st.data())
@pytest.mark.parametrize("paging", ["page", "link"])
def test_records_that_share_a_bookmark_come_once(shared, paging, times, size, data):
    """HTP-03: wherever a page ends, and whenever the task is started anew."""
    every = [{"id": number, "changed": time} for number, time in enumerate(sorted(times))]
    split = data.draw(st.integers(0, len(every)))
    shared.records, shared.size = every[:split], size
    found, offset = [], None
    for more in ([], every[split:]):
        shared.records += more
        with reading(properties(shared.url, paging, page_size=size, **SINCE), offset) as task:
            found += task.poll()
        with reading(properties(shared.url, paging, page_size=size, **SINCE), task.offset) as task:
            found += task.rest()
            offset = task.offset
    assert sorted(found) == list(range(len(every)))


def test_changed_records_come_again(api):
    """HTP-03: and a record that takes the latest bookmark afterwards comes, too."""
    with reading(properties(api.url, **SINCE)) as task:
        task.rest()
        api.records[2:3] = []
        api.records += [{"id": 2, "changed": 3}, {"id": 11, "changed": 3}]
        assert task.rest() == [2, 11]


@pytest.mark.parametrize(
    ("bookmarks", "asked"),
    [
        (["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.5Z"], "2019-12-31T23:59:50.500Z"),
        (["2020-01-01T00:00:00+01:00", "2020-01-01T00:00:00Z"], "2019-12-31T23:59:50Z"),
        (["2020-01-01 00:00:00", "2020-01-01 00:00:30"], "2020-01-01 00:00:20"),
        (["2020-01-01", "2020-01-02"], "2020-01-01"),
        ([3, 40], "30"),
        ([0.5, 1.5], "-8.5"),
    ],
)
def test_an_overlap_is_asked_for_in_the_words_of_the_bookmark(api, bookmarks, asked):
    """HTP-04: `incremental.overlap` counts numbers, or seconds; what was read does not come again."""
    pages = [{"id": number, "changed": one} for number, one in enumerate(bookmarks)]
    api.replies = [Reply(body={"data": {"rows": pages}})] * 3
    with reading(properties(api.url, incremental_overlap=10, **SINCE)) as task:
        assert task.rest() == [0, 1]
    assert api.asked[-1].parameters["since"] == asked


@pytest.mark.parametrize("size", [5, 100])
def test_a_page_size_above_the_real_one_is_refused(api, size):
    """HTP-04: else the first page would seem to be the last one forever."""
    with (
        reading(properties(api.url, page_size=size)) as task,
        pytest.raises(DamagedDataError, match="there is one beh"),
    ):
        task.rest()


@pytest.mark.parametrize("caches", [False, True])
def test_a_page_size_above_the_real_one_is_refused_once_that_shows(api, caches):
    """HTP-04: the list may be short when the task starts; there are fewer and fewer questions about it."""
    api.records, api.caches = rows(3), caches
    with reading(properties(api.url, page_size=5)) as task:
        for count in (3, 4, 5, 6):
            api.records = rows(count)
            task.rest()
        before = len(api.asked)
        with pytest.raises(DamagedDataError, match="there is one behind it"):
            assert not any(task.rest() for _ in range(200))
    assert len(api.asked) - before < 80


def test_a_page_size_below_the_real_one_is_refused(api):
    """HTP-04: a page that seems full although it may grow would lose records."""
    with (
        reading(properties(api.url, page_size=3)) as task,
        pytest.raises(DamagedDataError, match="4 records, and page"),
    ):
        task.rest()


@pytest.mark.parametrize("beyond", [Reply(404), Reply(body={"data": {"rows": rows(2, 8)}}), None])
def test_apis_differ_in_what_is_behind_the_last_page(api, beyond):
    """HTP-04: an error, the last page once more, or nothing is no reason to refuse."""
    page = api.answer

    def answer(asked):
        reply = page(asked)
        return beyond if beyond is not None and asked.parameters["page"] == "4" else reply

    api.answer = answer
    with reading(properties(api.url)) as task:
        assert task.rest() == list(range(10))


def test_a_page_that_fills_while_it_is_checked_is_not_refused(api):
    """HTP-04: records may come between two requests."""
    page = api.answer

    def answer(asked):
        if asked.parameters["page"] == "4" and len(api.records) == 10:
            api.records += rows(4, 10)
        return page(asked)

    api.answer = answer
    with reading(properties(api.url)) as task:
        assert task.rest() == list(range(14))


def test_a_filter_that_leaves_out_the_bookmark_is_refused(api):
    """HTP-04: records that share it would be lost."""
    api.exclusive = True
    with (
        reading(properties(api.url, **SINCE)) as task,
        pytest.raises(ConfigError, match=r"incremental.overlap: the API"),
    ):
        task.rest()
    with reading(properties(api.url, incremental_overlap=1, **SINCE)) as task:
        assert task.rest() == list(range(10))
        api.records += [{"id": 10, "changed": 3}]
        assert task.rest() == [10]


def test_a_record_that_is_gone_is_no_proof_of_such_a_filter(api):
    """HTP-04: nor one that has changed; there is one question about it, not one for each poll."""
    with reading(properties(api.url, page_size=100, **SINCE)) as task:
        api.size = 100
        task.poll()
        api.records.pop()
        assert task.rest() == []
        asked = len(api.asked)
        assert (task.rest(), len(api.asked)) == ([], asked + 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cursor", {"paging": "offset"}),
        ("link", {"paging": "page"}),
        ("page", SINCE),
        ("offset", {"paging": "none"}),
        ("none", {"paging": "page"}),
    ],
)
@pytest.mark.parametrize("count", [3, 10])
def test_an_offset_of_another_paging_is_refused(api, before, after, count):
    """HTP-04: it would be read as the beginning; so would one on the first page, which has no cursor and no link."""
    del api.records[count:]
    with reading(properties(api.url, before)) as first:
        first.poll()
    task = reading(properties(api.url, **({"paging": before} | after)), first.offset)
    with pytest.raises(DamagedDataError, match="made with another paging"), task:
        pass


def test_records_out_of_order_are_refused(api):
    """HTP-04: what is behind a greater bookmark would be lost."""
    api.records.reverse()
    with (
        reading(properties(api.url, **SINCE)) as task,
        pytest.raises(DamagedDataError, match="in the order of changed"),
    ):
        task.rest()


def test_a_list_that_has_shrunk_is_refused(api):
    """HTP-04: what moved to another place would be lost, or come twice."""
    with reading(properties(api.url)) as task:
        task.rest()
        api.records.pop()
        with pytest.raises(DamagedDataError, match="a page has 1 records, and 2 of it were read"):
            task.rest()


@pytest.mark.parametrize(("paging", "count", "least"), [("offset", 10, 1), ("page", 8, 4)])
def test_a_list_that_has_shrunk_before_an_empty_page_is_refused(api, paging, count, least):
    """HTP-04: records that came afterwards would lie before the place that is asked for."""
    del api.records[count:]
    with reading(properties(api.url, paging)) as task:
        assert task.rest() == list(range(count))
        del api.records[:1]
        with pytest.raises(DamagedDataError, match=rf"has {least - 1} records, and {least} of it were read"):
            [task.rest() for _ in range(64)]


@pytest.mark.parametrize(("paging", "count"), [("offset", 10), ("page", 8)])
def test_a_list_at_rest_is_seldom_asked_whether_it_has_shrunk(api, paging, count):
    """HTP-04: one more request for each end at first, for one of 64 later."""
    del api.records[count:]
    with reading(properties(api.url, paging)) as task:
        for _ in range(200):
            task.rest()
    assert len(api.asked) < 220


@pytest.mark.parametrize(
    ("paging", "last"),
    [
        ("cursor", {"next": "8"}),
        ("link", {}),
        ("cursor", {"next": ""}),
        ("link.path", {"link": "/rows?offset=8"}),
        ("link.path", {"link": ""}),
    ],
)
def test_a_last_page_that_names_itself_is_the_last(api, paging, last):
    """HTP-02: no record comes twice."""
    page = api.answer

    def answer(asked):
        reply = page(asked)
        if len(reply.body["data"]["rows"]) == 4:
            return reply
        return Reply(200, {"Link": '</rows?offset=8>; rel="next"'}, {**reply.body, **last})

    api.answer = answer
    with reading(properties(api.url, paging)) as task:
        assert task.rest() == list(range(10))
        assert task.rest() == []


def test_an_api_that_always_has_a_next_cursor_is_at_its_end_on_an_empty_page(api):
    """HTP-02: and is left alone for a while."""
    page = api.answer

    def answer(asked):
        start = int(asked.parameters.get("cursor", 0))
        reply = page(asked)
        return Reply(body={**reply.body, "next": f"{start + len(reply.body['data']['rows'])}{' ' * len(api.asked)}"})

    api.answer = answer
    with reading(properties(api.url, "cursor")) as task:
        assert task.rest() == list(range(10))
        asked = len(api.asked)
        assert (task.poll(), len(api.asked)) == ([], asked)


def test_null_is_an_empty_list(api):
    """HTP-02: as APIs written in Go say it."""
    api.replies = [Reply(body={"data": {"rows": None}})]
    with reading(properties(api.url, "offset")) as task:
        assert task.rest() == []
        assert task.rest() == list(range(10))


@pytest.mark.parametrize("paging", PAGINGS)
def test_an_answer_without_content_is_an_empty_list(api, paging):
    """HTP-02: as some APIs say that there is nothing yet, or nothing behind a page."""
    api.replies = [Reply(204)]
    with reading(properties(api.url, paging)) as task:
        assert task.rest() == []
        assert task.rest() == list(range(10))


def test_an_answer_without_content_is_the_end_of_pages(api):
    """HTP-02: and what comes there afterwards is read."""
    with reading(properties(api.url, "offset")) as task:
        assert task.rest() == list(range(10))
        api.replies = [Reply(204)]
        assert task.rest() == []
        api.records += rows(2, 10)
        assert task.rest() == [10, 11]


def test_links_that_say_http_for_https_are_asked_of_the_same_server(api):
    """HTP-02: proxies make such links; no other server is asked."""
    api.replies = [
        Reply(
            200,
            {"Link": '<https://{}/rows?offset=4>; rel="next"'.format(api.url.split("/")[2])},
            {"data": {"rows": rows(4)}},
        )
    ]
    with reading(properties(api.url, "link")) as task:
        assert task.rest() == list(range(10))


@pytest.mark.parametrize("more", [{}, SINCE], ids=["whole list", "bookmarks"])
@pytest.mark.parametrize(("paging", "back"), [("cursor", "1"), ("link.path", "/rows?cursor=1"), ("link.path", "/rows")])
def test_pages_that_lead_back_to_one_that_was_read_are_refused(api, monkeypatch, paging, back, more):
    """HTP-02: they have no end, and their records would come again and again."""
    name = "next" if paging == "cursor" else "link"
    following = ("1", "2", back) if paging == "cursor" else ("/rows?cursor=1", "/rows?cursor=2", back)

    def page(asked):
        number = int(asked.parameters.get("cursor", 0))
        return Reply(body={"data": {"rows": [{"id": number, "changed": 1}]}, name: following[number]})

    monkeypatch.setattr(api, "_page", page)
    with reading(properties(api.url, paging, **more), record_offsets=True) as task:
        with pytest.raises(DamagedDataError, match="leads back to a page that was read before"):
            task.rest()
        assert len(task.record_offsets) <= 3


def test_a_page_that_is_asked_for_again_may_name_the_same_next_one(api):
    """HTP-02: as where the next page is empty, or the request has failed."""
    pages = {None: ([1, 2], "b"), "b": ([], None)}
    with reading(properties(api.url, "cursor")) as task:
        for cursor in (None, "b", "b", "b"):
            rows, following = pages[cursor]
            api.replies = [Reply(body={"data": {"rows": [{"id": one} for one in rows]}, "next": following})]
            task.now += 3600
            assert task.poll() == rows
