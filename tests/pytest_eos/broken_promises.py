"""Parts that break one promise of a contract each; the contract must name it."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

from tests.pytest_eos.broken import Through
from tests.pytest_eos.counter import CounterConnector, CounterTask, connector

from eosfw.builtin.fencer import AdminFencer
from eosfw.builtin.isolation import ReadCommitted
from eosfw.builtin.offset_store import KafkaOffsetStore
from eosfw.connectors import ExactlyOnceSupport
from eosfw.errors import DamagedDataError, IllegalStateError, ReadStalledError
from eosfw.ids import TopicPartition
from eosfw.protocols import Gap, GapReason, IsolationLevel
from eosfw.records import OffsetRange, ProducerRecord, SourceRecord

# --- connectors


class Undeclared(CounterConnector):
    """Does not say whether it is exactly once."""

    def exactly_once_support(self, config) -> ExactlyOnceSupport | None:
        return None


class Greedy(CounterConnector):
    """Makes a task for every stream, whatever it may."""

    def task_configs(self, config, max_tasks):
        return super().task_configs(config, config["streams"])


class TwoOwners(CounterConnector):
    """Gives every task all streams."""

    def task_configs(self, config, max_tasks):
        return list(super().task_configs(config, 1)) * min(2, max_tasks)


class NumberedShares(CounterConnector):
    """Puts numbers into shares, which are texts when they come back from the config topic."""

    def task_configs(self, config, max_tasks):
        return [{**share, "number": number} for number, share in enumerate(super().task_configs(config, max_tasks))]


@connector()
class Coarse(CounterTask):
    """One offset for a whole batch: what lies within it has no identity."""

    def offset_behind(self, number: int) -> int:
        return number // 4 * 4


@connector()
class Behind(CounterTask):
    """States the offset before a record, not behind it."""

    def offset_behind(self, number: int) -> int:
        return number


@connector()
class Hashed(CounterTask):
    """Reads in an order that hangs on this process's seed of `hash`."""

    def record(self, stream: str, number: int) -> SourceRecord:
        found = super().record(stream, number)
        value = b"%d" % hash(found.value)
        return SourceRecord(found.topic, value, None, found.source_partition, found.source_offset)


# --- offset stores


class SharedKeys(KafkaOffsetStore):
    """Forgets whose offset it is."""

    def encode(self, connector, topic, offsets):
        return super().encode("anybody", topic, offsets)

    def decode(self, connector, committed):
        return super().decode("anybody", committed)


class StartsFromZero(KafkaOffsetStore):
    """Takes what it cannot read for nothing."""

    def decode(self, connector, committed):
        try:
            return super().decode(connector, committed)
        except DamagedDataError:
            return {}


class NeverForgets(KafkaOffsetStore):
    """Writes an empty offset where a tombstone is due."""

    def encode(self, connector, topic, offsets):
        return super().encode(connector, topic, [(partition, offset or {}) for partition, offset in offsets])


class ValuesAlone(KafkaOffsetStore):
    """Tells source partitions apart by their values, whatever their keys."""

    def partition_key(self, partition):
        return json.dumps(list(partition.values()))


class TextsAlone(KafkaOffsetStore):
    """Tells source partitions apart by the texts of their values: 1 is "1"."""

    def partition_key(self, partition):
        return json.dumps({name: str(value) for name, value in partition.items()}, sort_keys=True)


class KeysAsTheyCome(KafkaOffsetStore):
    """Writes the keys of a source partition in the order in which the connector happened to name them."""

    def encode(self, connector, topic, offsets):
        records = super().encode(connector, topic, offsets)
        keys = [json.dumps([connector, partition], separators=(",", ":")).encode() for partition, _ in offsets]
        return [replace(record, key=key) for record, key in zip(records, keys, strict=True)]


class FirstBatch(KafkaOffsetStore):
    """Reads one batch of the offsets topic, and no more."""

    def decode(self, connector, committed):
        return super().decode(connector, itertools.islice(committed, 1))


class FirstWins(KafkaOffsetStore):
    """Keeps what an earlier batch said of a source partition."""

    def decode(self, connector, committed):
        found = {}
        for batch in committed:
            found = {**super().decode(connector, [batch]), **found}
        return found


# --- fencers


class EightIds(AdminFencer):
    """Fences eight ids, says that it fenced them all."""

    def fence(self, transactional_ids, timeout):
        super().fence(list(transactional_ids)[:8], timeout)
        return dict.fromkeys(transactional_ids)


class HidesErrors(AdminFencer):
    """Waits for every outcome, then says that each id is fenced."""

    def fence(self, transactional_ids, timeout):
        return dict.fromkeys(super().fence(transactional_ids, timeout))


class OnceForAll(AdminFencer):
    """Takes an id that it has fenced for fenced for ever."""

    def __init__(self, admin):
        super().__init__(admin)
        self.done = set()

    def fence(self, transactional_ids, timeout):
        new = set(transactional_ids) - self.done
        self.done |= new
        return {**dict.fromkeys(transactional_ids), **(super().fence(new, timeout) if new else {})}


# --- readers


class StopsShort(ReadCommitted):
    """Ends a read, without a word, where an open transaction is in its way."""

    def read(self, ranges, stall_timeout):
        try:
            yield from super().read(ranges, stall_timeout)
        except ReadStalledError:
            return


class GapsInTheWay(ReadCommitted):
    """Calls what an open transaction holds back a gap."""

    def read(self, ranges, stall_timeout):
        at = {one: offsets.start for one, offsets in ranges.items()}
        try:
            for found in super().read(ranges, stall_timeout):
                place = found.partition if isinstance(found, Gap) else TopicPartition(found.topic, found.partition)
                at[place] = found.offsets.end if isinstance(found, Gap) else found.offsets[-1] + 1
                yield found
        except ReadStalledError:
            for one, offset in at.items():
                yield Gap(one, OffsetRange(offset, ranges[one].end), GapReason.HIDDEN)


class Silent(ReadCommitted):
    """Shows no gap."""

    def read(self, ranges, stall_timeout):
        return (found for found in super().read(ranges, stall_timeout) if not isinstance(found, Gap))


class TellsArrowMore(ReadCommitted):
    """Leaves out the first record of a read, not of one for Arrow."""

    def read(self, ranges, stall_timeout):
        later = {one: OffsetRange(min(offsets.start + 1, offsets.end), offsets.end) for one, offsets in ranges.items()}
        return super().read(later, stall_timeout)

    read_arrow = ReadCommitted.read_arrow


class FarSighted(ReadCommitted):
    """Shows what is still open."""

    level = IsolationLevel.READ_UNCOMMITTED


# --- backends


class OtherProducers(Through):
    """A backend whose producers differ."""

    how: type[Through]

    def producer(self, transactional_id, **how):
        return self.how(self.real.producer(transactional_id, **how))


class CommittingProducer(Through):
    def abort_transaction(self, timeout):
        self.real.commit_transaction(timeout)


class NeverAborts(OtherProducers):
    how = CommittingProducer


class LenientProducer(Through):
    def begin_transaction(self):
        try:
            self.real.begin_transaction()
        except IllegalStateError:
            return


class Lenient(OtherProducers):
    """Takes a second begin for the first."""

    how = LenientProducer


class ModuloProducer(Through):
    def send(self, record: ProducerRecord, on_delivery=None):
        partition = record.partition if record.key is None else len(record.key) % 7
        self.real.send(
            ProducerRecord(record.topic, record.value, record.key, partition, record.timestamp, record.headers),
            on_delivery,
        )


class OtherPartitioner(OtherProducers):
    how = ModuloProducer


class Impostors(Through):
    """Gives every producer an id of its own, so that none shuts another out."""

    made = 0

    def producer(self, transactional_id, **how):
        self.made += 1
        real = self.real.producer(transactional_id and f"{transactional_id}-{self.made}", **how)
        return Through(real)


class Nobody(Through):
    """Reports that no transaction blocks a partition."""

    def admin(self, properties=None):
        admin = Through(self.real.admin(properties))
        admin.open_transactions = lambda _: []
        return admin


class YesSayer(Through):
    """Confirms a membership without asking anybody."""

    def group_consumer(self, *where, **how):
        consumer = Through(self.real.group_consumer(*where, **how))
        consumer.confirm = lambda _: None
        return consumer


class Nameless(Through):
    """Joins groups under a client id of its own."""

    def group_consumer(self, *where, **how):
        return self.real.group_consumer(*where, **{**how, "client_id": "eosfw"})
