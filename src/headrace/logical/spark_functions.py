"""Spark's functions: what they are called, how many arguments they take, of which kinds, and what they reach beyond these.

The table is data, `spark_functions.tsv`, written by `scripts/make-function-table` from the registry of a Spark; a test
compares it with the registry of the Spark that runs. What a function reaches is a person's judgement: nothing for one that
computes from its arguments (and the clock, or chance), else a word of `REACHES`. Only the first may be called by the text of a
set. A function that is not in the table, or that nobody has read yet, is not known to be safe, so a new Spark opens no door.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).with_name("spark_functions.tsv")
REACHES = {
    "machine": "it reaches the machine that the set runs on",
    "files": "it reaches files of the machine that the set runs on",
    "session": "it tells of the session that the set runs in",
    "stop": "it ends the run of the whole set",
    "unread": "nobody has read yet what it reaches",
}
KINDS_OF_TYPE = {
    "boolean": "b",
    "tinyint": "i",
    "smallint": "i",
    "int": "i",
    "bigint": "i",
    "float": "f",
    "double": "f",
    "decimal": "c",
    "string": "s",
    "binary": "x",
    "date": "d",
    "timestamp": "t",
    "timestamp_ntz": "t",
    "array": "a",
    "map": "m",
    "struct": "r",
}
TYPES_TRIED = (
    *("boolean", "int", "bigint", "double", "decimal(10,2)", "string", "binary", "date", "timestamp"),
    *("array<int>", "array<string>", "array<array<int>>", "array<struct<a:string,b:int>>", "map<string,int>", "struct<a:int>"),
)
ANY_KIND = "*"
OPERATORS = ("+", "-", "*", "/", "%", "=", "<", "<=>", "&", "|", "^", "||", "AND")


@dataclass(frozen=True)
class SparkFunction:
    """A function of Spark's registry, or an operator.

    `kind`: scalar, aggregate, window (only with OVER), generator (many rows of one), table (only in FROM) or operator. `most`:
    None, if any number may come. `returns`: the type of the result where it is always the same. `takes`: for the first arguments,
    the kinds of type that Spark takes there, `*` for all; of an operator, the pairs of kinds that it takes.
    """

    name: str
    kind: str
    least: int
    most: int | None
    returns: str = ""
    takes: tuple[str, ...] = ()
    reaches: str = ""

    @property
    def counts(self) -> str:
        """How many arguments it takes, in words."""
        if self.least == self.most:
            return "no argument" if not self.least else f"{self.least} argument{'s' if self.least > 1 else ''}"
        if self.most is None:
            return f"{self.least} or more arguments" if self.least else "any number of arguments"
        return f"{self.least} {'or' if self.most == self.least + 1 else 'to'} {self.most} arguments"

    def takes_count(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)


def kind_of_type(type_: str) -> str:
    """The kind of a type as Spark spells it; nothing, if it is of no kind that was tried."""
    return KINDS_OF_TYPE.get(type_.partition("<")[0].partition("(")[0], "")


@cache
def read_functions() -> Mapping[str, SparkFunction]:
    """The table, by name."""
    found = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:] if TABLE.exists() else ():
        name, kind, least, most, returns, takes, reaches = line.split("\t")
        kinds = tuple(takes.split()) if takes else ()
        found[name] = SparkFunction(name, kind, int(least), None if most == "-" else int(most), returns, kinds, reaches)
    return found


def write_functions(functions: Iterable[SparkFunction]) -> None:
    lines = ["name\tkind\tleast\tmost\treturns\ttakes\treaches"]
    for f in functions:
        most = "-" if f.most is None else str(f.most)
        lines.append("\t".join([f.name, f.kind, str(f.least), most, f.returns, " ".join(f.takes), f.reaches]))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


__all__ = [
    "ANY_KIND",
    "KINDS_OF_TYPE",
    "OPERATORS",
    "REACHES",
    "TABLE",
    "TYPES_TRIED",
    "SparkFunction",
    "kind_of_type",
    "read_functions",
    "write_functions",
]
