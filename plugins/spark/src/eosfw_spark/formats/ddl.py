"""A schema in Spark's DDL as an Arrow type, parsed without Spark.

Spark's own parser is in the JVM, which the processes that plan and run a Python data source cannot ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from eosfw_spark.formats.spark_types import TIMESTAMP, TIMESTAMP_NTZ, list_of

_PLAIN: Final = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "byte": pa.int8(),
    "smallint": pa.int16(),
    "short": pa.int16(),
    "int": pa.int32(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "long": pa.int64(),
    "float": pa.float32(),
    "real": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": TIMESTAMP,
    "timestamp_ltz": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
_DECIMAL: Final = ("decimal", "dec", "numeric")
_TOKEN: Final = re.compile(
    r"\s*(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<text>'(?:[^'\\]|\\.)*')|(?P<word>\w+)|(?P<sign>[<>(),:]))"
)


def parse_ddl(text: str) -> pa.DataType:
    """The columns `name TYPE, ...` as a struct, or a single type; ValueError says what is wrong with the text."""
    parser = _Parser(_tokens(text))
    if parser.is_type():
        return parser.whole(parser.type)
    return parser.whole(lambda: parser.struct(end=None))


def _tokens(text: str) -> list[str]:
    """Words and signs; a quoted name keeps its first quote, so that it is never taken for a word."""
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(
                f"is no Spark DDL at {text[at : at + 20].strip()!r}; write columns such as id BIGINT, name STRING"
            )
        quoted = token["quoted"]
        found.append(token[0].strip() if quoted is None else "`" + quoted.replace("``", "`"))
        at = token.end()
    return found


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def whole(self, parse: Callable[[], pa.DataType]) -> pa.DataType:
        found = parse()
        if self._at < len(self._tokens):
            raise self._unexpected()
        return found

    def is_type(self) -> bool:
        """Whether the text is one type without a column's name: a name is followed by a type."""
        first = self._peek().lower()
        alone = len(self._tokens) == 1 or self._peek(1) in ("<", "(")
        return alone and (first in _PLAIN or first in ("array", "map", "struct", *_DECIMAL))

    def struct(self, end: str | None) -> pa.DataType:
        fields: dict[str, pa.DataType] = {}
        while True:
            name = self._take().removeprefix("`")
            if not name or name[0] in "<>(),:'":
                raise ValueError("is no Spark DDL: a column's name is missing; write NAME TYPE")
            if name in fields:
                raise ValueError(f"has the column {name} twice")
            if self._peek() == ":":
                self._take()
            fields[name] = self.type()
            self._skip_column_options()
            if self._peek() != ",":
                break
            self._take()
        if end is not None:
            self._expect(end)
        return pa.struct(list(fields.items()))

    def type(self) -> pa.DataType:
        word = self._take()
        name = word.lower()
        if name in _DECIMAL:
            return self._decimal()
        if name == "array":
            return list_of(*self._inner(1))
        if name == "map":
            return pa.map_(*self._inner(2))
        if name == "struct":
            self._expect("<")
            return self.struct(end=">")
        if name in ("varchar", "char"):
            self._numbers()
            return pa.string()
        if name not in _PLAIN:
            what = f"the type {word}" if word else "a column without a type"
            raise ValueError(
                f"has {what}, which is not among {', '.join(_PLAIN)}, decimal(p, s), array<…>, map<…>, struct<…>"
            )
        return _PLAIN[name]

    def _decimal(self) -> pa.DataType:
        numbers = self._numbers() if self._peek() == "(" else [10]
        precision, scale = (*numbers, 0)[:2]
        if not 1 <= precision <= 38 or scale > precision or len(numbers) > 2:
            raise ValueError(
                f"has the type decimal({precision}, {scale}); a precision is 1 to 38, a scale at most that"
            )
        return pa.decimal128(precision, scale)

    def _numbers(self) -> list[int]:
        self._expect("(")
        found = []
        while True:
            if not self._peek().isdecimal():
                raise self._unexpected()
            found.append(int(self._take()))
            if self._peek() != ",":
                break
            self._take()
        self._expect(")")
        return found

    def _inner(self, count: int) -> list[pa.DataType]:
        self._expect("<")
        found = [self.type()]
        while len(found) < count:
            self._expect(",")
            found.append(self.type())
        self._expect(">")
        return found

    def _skip_column_options(self) -> None:
        # A record of a topic promises nothing: every column may be null, as those of `from_json`.
        if self._peek().lower() == "not":
            self._take()
            self._expect("null")
        if self._peek().lower() == "comment":
            self._take()
            self._take()

    def _peek(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._peek().lower() != token:
            raise self._unexpected()
        self._take()

    def _unexpected(self) -> ValueError:
        found = self._peek().removeprefix("`")
        where = f"at {found!r}" if found else "at its end"
        return ValueError(f"is no Spark DDL {where}; write columns such as id BIGINT, name STRING")
