"""The streaming steps of a run are shown with their batches, beside what feeds them (UIC-12)."""

from __future__ import annotations

from eosfw.ids import TopicPartition
from eosfw.protocols import QueryProgress, StepBatch
from eosfw.protocols.herder import ActiveTopics, StreamingQueryInfo

HELD = "orders-0 is held back at offset 4 by transactional id 'stuck'"
BATCHES = tuple(
    StepBatch(number, 1_795_831_897.461 + number, 2.16, 180, {TopicPartition("orders", 0): 1_000 + number})
    for number in (7, 8)
)
LARGE = StreamingQueryInfo(
    "large", ["orders"], "topic large-orders", "large-orders", QueryProgress(8, 360, 83.4, 12, (HELD,), BATCHES)
)
ARCHIVE = StreamingQueryInfo("archive", ["large-orders"], "parquet <archive>", None, None)


def test_each_query_is_shown_with_its_batches_and_what_feeds_it(browser, herder, monkeypatch):
    monkeypatch.setattr(herder, "active_topics", lambda name: ActiveTopics(name, ["orders"]))
    herder.queries = [LARGE, ARCHIVE]
    herder.put_connector("orders", {"connector.class": "x"})

    page = browser.get("/ui/streaming").text

    assert 'topic <code>orders</code>, written by connector <a href="/ui/connectors/orders">orders</a>' in page
    assert "topic <code>large-orders</code>, written by step large" in page
    assert page.index("orders-0: 1,008") < page.index("orders-0: 1,007")
    assert "02:11:45 UTC" in page
    assert "<dd>up to batch 8</dd>" in page
    assert "12 committed offsets" in page
    assert "is held back at offset 4" in page
    assert "parquet &lt;archive&gt;" in page
    assert page.count("It has not started yet") == 1


def test_a_group_has_no_link_to_queries_and_a_run_with_steps_has(browser, herder):
    assert "/ui/streaming" not in browser.get("/ui").text
    assert "None runs here" in browser.get("/ui/streaming").text

    herder.queries = [ARCHIVE]

    assert "/ui/streaming" in browser.get("/ui").text
