"""How options of `format("eosfw")` are read."""

from __future__ import annotations

import pytest

from eosfw.errors import ConfigError
from eosfw.ids import TopicPartition
from eosfw_spark.source.options import offsets_json, parse

ENOUGH = {"kafka.bootstrap.servers": "h:1", "subscribe": "a, b,a"}


def problems(**more: str) -> list[str]:
    with pytest.raises(ConfigError) as raised:
        parse({**ENOUGH, **{name.replace("__", "."): value for name, value in more.items()}})
    return [str(each) for each in raised.value.problems]


def test_default_options_read_all_committed_records() -> None:
    options = parse(ENOUGH)

    assert options.topics == ("a", "b")
    assert (options.starts, options.ends, options.assigned) == (None, None, None)
    assert (options.reader.name, options.reader.properties) == ("read_committed", {})
    assert options.backend == "confluent"
    assert dict(options.properties) == {"bootstrap.servers": "h:1"}


def test_a_reader_is_chosen_by_its_name_with_properties_of_its_own() -> None:
    options = parse({**ENOUGH, "isolationReader": "masked", "isolationReader.fields": "email"})

    assert (options.reader.name, options.reader.properties) == ("masked", {"fields": "email"})


def test_kafkas_isolation_level_chooses_the_reader_of_that_name() -> None:
    assert parse({**ENOUGH, "kafka.isolation.level": "READ_UNCOMMITTED"}).reader.name == "read_uncommitted"


def test_names_are_read_in_any_case() -> None:
    options = parse({**ENOUGH, "INCLUDEHEADERS": "TRUE", "minpartitions": "3", "endingOffsets": "LATEST"})

    assert (options.headers, options.min_partitions, options.ends) == (True, 3, None)


def test_offsets_are_read_as_they_are_written() -> None:
    offsets = {TopicPartition("a", 0): 3, TopicPartition("a", 1): -2, TopicPartition("b", 0): 0}

    assert parse({**ENOUGH, "startingOffsets": offsets_json(offsets)}).starts == offsets


def test_every_problem_is_reported_at_once() -> None:
    found = problems(includeHeaders="perhaps", minPartitions="0", kafka__isolation__level="dirty", nonsense="1")

    assert len(found) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"failOnDataLoss": "false"}, "not supported by format eosfw yet"),
        ({"assign": '{"a":[0]}'}, "excludes `assign`"),
        ({"startingOffsets": "latest"}, 'must be "earliest" or JSON'),
        ({"startingOffsets": '{"a":{"0":-1}}'}, "a-0 the offset -1"),
        ({"endingOffsets": '{"a":{"0":-2}}'}, "a-0 the offset -2"),
        ({"endingOffsets": "[1]"}, 'must be "latest" or JSON'),
        ({"subscribe": " , "}, "names no topic"),
        ({"kafka__isolation__level": "read_committed", "isolationReader": "masked"}, "excludes kafka.isolation.level"),
        ({"kafka__bootstrap__servers": ""}, "is missing; give the cluster as HOST:PORT"),
    ],
)
def test_a_wrong_option_is_named_with_what_to_write(given: dict[str, str], message: str) -> None:
    (found,) = problems(**given)

    assert message in found
