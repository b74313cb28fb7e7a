"""Measure converters by rows and by columns of pyarrow, beside Kafka Connect's own in Java.

100,000 rows of eight columns: whole and floating-point numbers, booleans, texts, one of them with nulls and quotes and
one with umlauts, timestamps; `string` converts one column of texts, since a struct is no text. `single` calls the
converter once for each record; `rows` and `columns` are what a task's loop does with a poll of records or with a
`pyarrow.RecordBatch`: the check by the schema and the converter, in polls of 2,000 rows. Java and Python take turns,
and make as many bytes. A figure is the processor time of the converting thread per row in microseconds, the best of
the rounds; those of the JVM's compiler and garbage collector are not in it. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jgo
import pyarrow as pa
from benchmark import ContenderError, run_main, scaled, show
from connect_peer import VERSION

from eosfw.builtin.converters.json import JsonConverter
from eosfw.builtin.converters.string import StringConverter
from eosfw.data import STRING, TIMESTAMP, ArrowValues, Schema, StructColumns, fitted_values, schema_of
from eosfw_schema_registry.avro.converter import AvroConverter

POLL = 2000
START = 1_767_225_600_000
PROGRAM = Path(__file__).with_name("ConverterRate.java")
Columns = StructColumns | ArrowValues


def record_batch(count: int) -> pa.RecordBatch:
    """The rows that `ConverterRate.java` makes, too."""
    numbers = range(count)
    columns = {
        "id": pa.array(numbers, pa.int64()),
        "quantity": pa.array([at % 100 for at in numbers], pa.int32()),
        "price": pa.array([at / 8 for at in numbers]),
        "active": pa.array([at % 2 == 0 for at in numbers]),
        "name": pa.array([f"item number {at}" for at in numbers]),
        "note": pa.array([None if at % 5 == 0 else f'it is "{at}"' for at in numbers]),
        "city": pa.array([f"Zürich {at % 50}" for at in numbers]),
        "at": pa.array([START + at for at in numbers], pa.timestamp("ms", "UTC")),
    }
    fields = [pa.field(name, one.type, nullable=name == "note") for name, one in columns.items()]
    return pa.record_batch(list(columns.values()), pa.schema(fields))


def converter(kind: type[Any], properties: Mapping[str, str]) -> Any:
    """A converter with these properties."""
    made = kind()
    made.configure(kind.config.parse(properties))
    return made


def polls(values: Any) -> list[Any]:
    """Values in the pieces of a poll."""
    return [values[start : start + POLL] for start in range(0, len(values), POLL)]


class Format:
    """A format with the same values as rows and as columns."""

    def __init__(self, converter: Any, schema: Schema, columns: Columns) -> None:
        rows = list(columns)
        self._converter, self._schema, self._count = converter, schema, len(rows)
        self._rows, self._polls = rows, {"rows": polls(rows), "columns": polls(columns)}

    def microseconds(self, how: str) -> tuple[float, int]:
        """For a row, and the bytes of all."""
        convert = self._single if how == "single" else self._polled(self._polls[how])
        began = time.thread_time()
        made = convert()
        spent = time.thread_time() - began
        return spent * 1e6 / self._count, sum(map(len, made))

    def _single(self) -> Sequence[bytes]:
        convert, schema = self._converter.from_connect_data, self._schema
        return [convert("t", schema, one) for one in self._rows]

    def _polled(self, polled: Sequence[Any]) -> Callable[[], Sequence[bytes]]:
        def convert() -> Sequence[bytes]:
            made: list[bytes] = []
            for values in polled:
                fitted = fitted_values(self._schema, values)
                made += self._converter.from_connect_columns("t", self._schema, fitted)
            return made

        return convert


def formats(count: int) -> Mapping[str, Format]:
    """Each format by its name."""
    batch = record_batch(count)
    schema, structs = schema_of(batch.schema), StructColumns.of_arrow(batch)
    assert schema.field("at") == TIMESTAMP
    names = ArrowValues(batch.column("name"))
    return {
        "json": Format(converter(JsonConverter, {"schemas.enable": "false"}), schema, structs),
        "json with schema": Format(converter(JsonConverter, {}), schema, structs),
        "string": Format(converter(StringConverter, {}), STRING, names),
        "avro": Format(converter(AvroConverter, {"schema.registry.url": "mock://rates"}), schema, structs),
    }


@contextmanager
def kafka_connect(count: int) -> Iterator[Callable[[str], tuple[float, int]]]:
    """Kafka Connect's converters in a JVM that stays warm; called with a format it converts all rows once."""
    jars = jgo.build(f"org.apache.kafka:connect-json:{VERSION}+org.slf4j:slf4j-nop:1.7.36").all_jars
    command = ["java", "-cp", ":".join(map(str, jars)), str(PROGRAM), str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        given, answers = process.stdin, process.stdout

        def microseconds(name: str) -> tuple[float, int]:
            print(name, file=given, flush=True)
            answer = answers.readline().split()
            if len(answer) != 2:
                raise ContenderError("Kafka Connect's converters ended: does `java` run the sources of a program?")
            return int(answer[0]) / 1000, int(answer[1])

        yield microseconds
        given.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=scaled(100_000))
    parser.add_argument("--rounds", type=int, default=scaled(12, least=2))
    asked = parser.parse_args()
    given = formats(asked.rows)
    found: dict[str, dict[str, list[float]]] = {name: {} for name in given}
    with kafka_connect(asked.rows) as java:
        for _ in range(asked.rounds):
            for name, one in given.items():
                measured = {how: one.microseconds(how) for how in ("single", "rows", "columns")}
                if name != "avro":  # Confluent's converter is not in Maven Central
                    measured["kafka connect"] = java(name)
                if len({size for _, size in measured.values()}) != 1:
                    raise ContenderError(f"{name}: the contenders made different bytes")
                for how, (spent, _) in measured.items():
                    found[name].setdefault(how, []).append(spent)
    best = {name: {how: round(min(all_), 3) for how, all_ in one.items()} for name, one in found.items()}
    show({"microseconds_per_row": best, "ratios": {name: ratios(one) for name, one in best.items()}})


def ratios(best: Mapping[str, float]) -> dict[str, float]:
    """How many times as fast columns are as each other way, and rows as Kafka Connect."""
    made = {f"columns/{how}": round(spent / best["columns"], 2) for how, spent in best.items() if how != "columns"}
    java = {"rows/kafka connect": round(best["kafka connect"] / best["rows"], 2)} if "kafka connect" in best else {}
    return {**made, **java}


if __name__ == "__main__":
    run_main(main)
