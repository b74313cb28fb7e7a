"""The signed store keeps every promise of an offset store, and refuses what it did not sign."""

import pytest
from eosfw_signed import SignedOffsetStore

from eosfw import Config
from eosfw.errors import DamagedDataError
from eosfw.records import LogBatch
from pytest_eos import contracts

KEY, OTHER = b'["c",{"p":1}]', b'["c",{"p":2}]'


@pytest.fixture
def key_file(tmp_path):
    file = tmp_path / "offsets.key"
    file.write_bytes(b"a secret of 16 bytes or more\n")
    return file


def made(key_file, **properties):
    store = SignedOffsetStore()
    store.configure(SignedOffsetStore.config.parse({"key.file": str(key_file), **properties}))
    return store


def read(key, value):
    return [LogBatch("offsets", 0, [7], [key], [value], [0])]


class TestSigned(contracts.OffsetStoreContract):
    @pytest.fixture
    def store(self, key_file):
        return made(key_file)


@pytest.mark.parametrize("forged", [b'{"o":1}', b'{"o":1}\n' + b"0" * 64, b"\n"])
def test_an_unsigned_offset_is_refused_with_topic_partition_and_offset(key_file, forged):
    with pytest.raises(DamagedDataError, match="topic offsets, partition 0, offset 7 has"):
        made(key_file).decode("c", read(KEY, forged))


def test_a_signed_offset_does_not_count_for_another_source_partition(key_file):
    (record,) = made(key_file).encode("c", "offsets", [({"p": 1}, {"o": 1})])

    with pytest.raises(DamagedDataError, match="a signature that does not fit"):
        made(key_file).decode("c", read(OTHER, record.value))


def test_earlier_offsets_are_taken_over_on_request(key_file):
    store = made(key_file, **{"accept.unsigned": "true"})

    assert list(store.decode("c", read(KEY, b'{"o":1}')).values()) == [({"p": 1}, {"o": 1})]
    assert store.decode("c", read(b"not a key", b"not a value")) == {}


@pytest.mark.eos_zombie(at=["read-offsets", "send-offsets", "commit"])
def test_a_zombie_changes_no_signed_offset(eos, tmp_path, key_file):
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(30)))
    eos.worker(offset_store="signed", offset_store_key_file=str(key_file))

    run = eos.run("file", {"file": f"{tmp_path}/lines.txt", "batch.size": 5})

    eos.assert_exactly_once(run, run.source_records())
    offsets = eos.topic(run.group.local.config["offset.storage.topic"]).values()
    assert offsets
    assert all(value.count(b"\n") == 1 for value in offsets)


def test_a_connector_property_chooses_the_signed_store(eos, tmp_path, key_file):
    (tmp_path / "lines.txt").write_text("a\nb\n")
    properties = {"file": f"{tmp_path}/lines.txt", "offset.store": "signed", "offset.store.key.file": str(key_file)}

    run = eos.run("file", properties)
    eos.assert_exactly_once(run, run.source_records())
    again = eos.run("file", properties)

    assert list(again.records()) == []
    assert isinstance(run.group.local.config, Config)


@pytest.mark.eos_clock("real")
def test_a_process_that_sleeps_in_its_transaction_changes_no_signed_offset(eos, tmp_path, key_file):
    (tmp_path / "lines.txt").write_text("".join(f"line {number}\n" for number in range(10)))
    properties = {"file": f"{tmp_path}/lines.txt", "topic": "lines", "batch.size": 5}
    signed = {"offset.store": "signed", "offset.store.key.file": str(key_file)}
    connector = "eosfw_file.connector:FileSourceConnector"
    process = eos.zombies.process(connector, properties, at="commit", nth=2, worker_properties=signed).await_frozen()

    eos.run("file", properties, name=process.name, worker=eos.worker(process.group, **signed))
    process.wake().await_end()

    assert process.fenced
    eos.assert_exactly_once("lines", process.source_records())


def test_a_second_run_keeps_the_offset_store_of_the_first(eos, tmp_path, key_file):
    lines = tmp_path / "lines.txt"
    lines.write_text("a\n")
    eos.worker(offset_store="signed", offset_store_key_file=str(key_file))
    eos.run("file", {"file": str(lines)})
    lines.write_text("a\nb\n")

    again = eos.run("file", {"file": str(lines)})

    assert again.values() == [b"b"]
