"""Whatever a text of a user holds, at every place where it reaches SQL: it is that text and nothing else, or it is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hostile_texts import SECRET, list_hostile_texts, write_name, write_text
from sqlglot import exp, parse_one

from headrace.errors import HeadraceError
from headrace.kernels.locked_database import open_locked_database
from headrace.logical.graph import Stream
from headrace.progress import Ordered
from headrace.runtime.csv_headers import spell_schema
from headrace.sources.read_bounds import read_files
from headrace.testing import LocalRun

STREAM = "CREATE STREAM a (ts TIMESTAMP, k STRING, v INT) PROGRESSING ON ts ORDERED FROM 'memory';\n"
REFUSED = "refused"


def escape_like(text: str) -> str:
    return re.sub(r"([!%_])", r"!\1", text)


# What is written for a text, over groups by k with k = 'x', and the answer; None: any answer that does not tell the secret.
VALUES: dict[str, tuple[Callable[[str], str], Callable[[str], Any] | None]] = {
    "a value": (lambda x: f"concat(k, {write_text(x)})", lambda x: "x" + x),
    "a value of an aggregate": (lambda x: f"max(concat(k, {write_text(x)}))", lambda x: "x" + x),
    "a value in FILTER": (lambda x: f"count(*) FILTER (WHERE k <> {write_text(x)})", lambda x: 1),
    "a value beside an order": (lambda x: f"max_by({write_text(x)}, v)", lambda x: x),
    "IN": (lambda x: f"k IN ({write_text(x)}, 'y')", lambda x: False),
    "CASE": (lambda x: f"CASE k WHEN {write_text(x)} THEN 1 ELSE 2 END", lambda x: 2),
    "a default": (lambda x: f"coalesce(NULL, {write_text(x)})", lambda x: x),
    "LIKE": (lambda x: f"{write_text(x)} LIKE {write_text(escape_like(x))} ESCAPE '!'", lambda x: True),
    "LIKE of something else": (lambda x: f"k LIKE {write_text(escape_like(x))} ESCAPE '!'", lambda x: False),
    "ILIKE": (lambda x: f"{write_text(x)} ILIKE {write_text(escape_like(x))} ESCAPE '!'", lambda x: True),
    "ESCAPE": (lambda x: f"concat(k, '%') LIKE {write_text(f'x{x}%')} ESCAPE {write_text(x)}", lambda x: (len(x) == 1 and x.isascii()) or REFUSED),
    "RLIKE": (lambda x: f"{write_text(x)} RLIKE {write_text('^' + re.escape(x) + '$')}", None),
    "a pattern": (lambda x: f"regexp_replace(k, {write_text(x)}, 'y')", None),
    "a replacement": (lambda x: f"regexp_replace(k, 'x', {write_text(x)})", None),
    "replace": (lambda x: f"replace(k, 'x', {write_text(x)})", lambda x: x),
    "translate": (lambda x: f"translate(k, {write_text(x)}, '')", None),
    "a separator": (lambda x: f"split_part(concat('1', {write_text(x)}, '2'), {write_text(x)}, 2)", lambda x: "2"),
    "a separator of many": (lambda x: f"concat_ws({write_text(x)}, k, 'y')", lambda x: f"x{x}y"),
    "padding": (lambda x: f"lpad(k, 3, {write_text(x)})", None),
    "a date format": (lambda x: f"date_format(max(ts), {write_text(x)})", None),
    "a format to read": (lambda x: f"to_date(k, {write_text(x)})", None),
    "a format of a moment": (lambda x: f"to_timestamp(k, {write_text(x)})", None),
    "a unit": (lambda x: f"date_trunc({write_text(x)}, max(ts))", None),
    "a part": (lambda x: f"date_part({write_text(x)}, max(ts))", None),
    "a zone": (lambda x: f"from_utc_timestamp(max(ts), {write_text(x)})", None),
    "an interval": (lambda x: f"max(ts) + INTERVAL {write_text(x)} SECOND", None),
    "a value cast": (lambda x: f"CAST({write_text(x)} AS INT)", None),
    "a percentage": (lambda x: f"percentile(v, {write_text(x)})", None),
    "a number of a window": (lambda x: f"_bucket({write_text(x)})", None),
    "a field": (lambda x: f"named_struct({write_text(x)}, k)", None),
    "a field by name": (lambda x: f"struct(k AS {write_name(x)}).{write_name(x)}", None),
    "a type": (lambda x: f"CAST(NULL AS STRUCT<{write_name(x)}: INT>)", None),
    "a key": (lambda x: f"map({write_text(x)}, k)[{write_text(x)}]", None),
    "an element": (lambda x: f"array({write_text(x)})[0]", lambda x: x),
    "a function": (lambda x: f"{write_name(x)}(k)", None),
    "a column": (lambda x: f"max({write_name(x)})", None),
}

# Whole scripts; only what they may not tell is looked at.
SCRIPTS: dict[str, Callable[[str], str]] = {
    "an alias": lambda x: f"{STREAM}CREATE QUERY q AS SELECT k, count(*) AS {write_name(x)} FROM a [RANGE 5 SECONDS] GROUP BY k",
    "an alias below": lambda x: (
        f"{STREAM}CREATE QUERY p AS SELECT ts, k AS {write_name(x)} FROM a;\n"
        f"CREATE QUERY q AS SELECT {write_name(x)}, count(*) AS n FROM p [RANGE 5 SECONDS] GROUP BY {write_name(x)}"
    ),
    "a name of a query": lambda x: f"{STREAM}CREATE QUERY {write_name(x)} AS SELECT ts, k FROM a",
    "a name of a stream": lambda x: STREAM.replace(" a ", f" {write_name(x)} ") + "CREATE QUERY q AS SELECT 1 AS one FROM a",
    "a name of a table": lambda x: f"{STREAM}CREATE QUERY q AS SELECT ts, {write_name(x)}.k FROM a AS {write_name(x)}",
    "a name of a WITH": lambda x: (
        f"{STREAM}CREATE QUERY q AS WITH {write_name(x)} AS (SELECT ts, k FROM a) SELECT ts, k FROM {write_name(x)}"
    ),
    "a declared column": lambda x: (
        STREAM.replace("k STRING", f"{write_name(x)} STRING")
        + f"CREATE QUERY q AS SELECT {write_name(x)}, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY {write_name(x)}"
    ),
    "a declared time": lambda x: (
        STREAM.replace("ts TIMESTAMP", f"{write_name(x)} TIMESTAMP").replace("ON ts", f"ON {write_name(x)}")
        + "CREATE QUERY q AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k"
    ),
    "a declared type": lambda x: (
        STREAM.replace("v INT", f"v STRUCT<{write_name(x)}: INT>") + "CREATE QUERY q AS SELECT ts, k, v FROM a"
    ),
    "a word for a type": lambda x: STREAM.replace("v INT", f"v {x}") + "CREATE QUERY q AS SELECT ts, k, v FROM a",
    "an option": lambda x: (
        STREAM.replace("'memory'", f"'memory' OPTIONS (path {write_text(x)}, header {write_text(x)})")
        + "CREATE QUERY q AS SELECT ts, k FROM a"
    ),
    "a format": lambda x: STREAM.replace("'memory'", write_text(x)) + "CREATE QUERY q AS SELECT ts, k FROM a",
    "a slack": lambda x: STREAM.replace("ORDERED", f"SLACK {write_text(x)}") + "CREATE QUERY q AS SELECT ts, k FROM a",
    "a partition": lambda x: (
        STREAM.replace(" FROM 'memory'", f" PARTITIONED BY ({write_name(x)}) FROM 'memory'")
        + "CREATE QUERY q AS SELECT ts, k FROM a"
    ),
    "a length": lambda x: (
        f"{STREAM}CREATE QUERY q AS SELECT k, count(*) AS n FROM a GROUP BY k, window(ts, {write_text(x)})"
    ),
    "a condition on rows": lambda x: f"{STREAM}CREATE QUERY q AS SELECT ts, k FROM a WHERE k LIKE {write_text(x)}",
    "a comment": lambda x: f"{STREAM}/* {x} */ CREATE QUERY q AS SELECT ts, k FROM a -- {x}",
    "no quotes at all": lambda x: f"{STREAM}CREATE QUERY q AS SELECT ts, k FROM a WHERE k = {x}",
}

# Places whose text DuckDB finds wrong in the batch, as Spark does: groups that a pattern does not have, a zone that is none, a
# parameter where none can be.
JUDGED_BY_DUCKDB = ("RLIKE", "a pattern", "a replacement", "a zone", "no quotes at all")


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    file = tmp_path / "secret"
    file.write_text(SECRET)
    return file


def answer(script: str, rows: list[tuple[Any, ...]], also: tuple[type[Exception], ...] = ()) -> Any:
    """All rows of all queries, or that the script is refused in words (or `also` by such an error)."""
    refused: Exception | None = None
    try:
        run = LocalRun(script, slots=1, tasks=1)
        run.push(a=rows)
        run.flush()
        return {query: run.rows(query) for query in run.graph.queries}
    except (HeadraceError, *also) as error:
        refused = error
    assert SECRET not in str(refused)
    return REFUSED


def _also(place: str) -> tuple[type[Exception], ...]:
    return (duckdb.Error,) if place in JUDGED_BY_DUCKDB else ()


def ask(values: list[str], *also: type[Exception]) -> list[Any]:
    """The answers to expressions, each in a query of its own; together where none of them is refused."""
    queries = [
        f"CREATE QUERY q{i} AS SELECT k, {value} AS c FROM a [RANGE 5 SECONDS] GROUP BY k;\n" for i, value in enumerate(values)
    ]
    found = answer(STREAM + "".join(queries), [(1, "x", 1)], also)
    if found == REFUSED:
        half = len(values) // 2
        return [REFUSED] if len(values) == 1 else [*ask(values[:half], *also), *ask(values[half:], *also)]
    return [found[f"q{i}"][0][1] for i in range(len(values))]


@pytest.mark.parametrize("place", VALUES)
def test_a_text_is_that_text_or_refused(place: str, secret: Path) -> None:
    """At every place of an expression on results, which DuckDB computes in the slot."""
    write, expect = VALUES[place]
    texts = list_hostile_texts(str(secret))
    for text, found in zip(texts, ask([write(text) for text in texts], *_also(place)), strict=True):
        assert SECRET not in repr(found), text
        if expect is not None and not (found == REFUSED and "\x00" in text):
            assert found == expect(text), text
    assert list(secret.parent.iterdir()) == [secret]


@pytest.mark.parametrize("place", SCRIPTS)
def test_no_name_and_no_option_says_more_than_itself(place: str, secret: Path) -> None:
    """A script with a hostile name is a script with that name, or is refused in words; nothing is read or written."""
    for text in list_hostile_texts(str(secret)):
        rows: list[tuple[Any, ...]] = [(1, "x", None if "type" in place else 1)]
        assert SECRET not in repr(answer(SCRIPTS[place](text), rows, _also(place))), text
    assert list(secret.parent.iterdir()) == [secret]


def test_data_is_never_read_as_sql(secret: Path) -> None:
    """Group keys and values that are hostile are counted like others, in windows, joins and late rows."""
    texts = list_hostile_texts(str(secret))
    run = LocalRun(
        STREAM
        + """CREATE QUERY q AS SELECT k, count(*) AS n, min(k) AS least FROM a [RANGE 100 SECONDS] GROUP BY k;
             CREATE QUERY j AS SELECT x.k AS k, y.v AS v FROM a x JOIN a y WITHIN 1 SECOND ON x.k = y.k""",
        tasks=1,
    )
    run.push(a=[(1_000_000, text, i) for i, text in enumerate(texts)])
    run.push(a=[(200_000_000, "end", 0)])
    run.push(a=[(2, texts[0], 1)])
    run.flush()
    assert sorted(row[:3] for row in run.rows("q") if row[0] != "end") == sorted((text, 1, text) for text in texts)
    assert sorted(row[0] for row in run.rows("j") if row[0] != "end") == sorted(texts)
    assert [row[1] for row in run.late("a")] == [texts[0]]


def test_names_of_folders_are_never_read_as_sql(secret: Path) -> None:
    """Where state is kept by folder, a folder may be called anything."""
    texts = list_hostile_texts(str(secret))
    script = (
        STREAM.replace(" FROM 'memory'", " PARTITIONED BY (k) FROM 'parquet' OPTIONS (path 'data')")
        + "CREATE QUERY q AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k"
    )
    run = LocalRun(script, tasks=1)
    run.push(a={f"k={text}": [(1, text, 1), (2, text, 2)] for text in texts})
    run.flush()
    assert sorted(row[:2] for row in run.rows("q")) == sorted((text, 2) for text in texts)


def test_headers_and_zones_are_quoted(secret: Path) -> None:
    """Columns of CSV files as Spark is told them, and the time zone of a session."""
    for text in list_hostile_texts(str(secret)):
        (column,) = parse_one(f"CREATE TABLE t ({spell_schema([(text, 'INT')])})", dialect="spark").find_all(exp.ColumnDef)
        assert column.name == text
        with pytest.raises(duckdb.Error, match="TimeZone|zone|ZONE"):
            open_locked_database(text)
    assert list(secret.parent.iterdir()) == [secret]


def test_the_attack_that_once_worked(secret: Path) -> None:
    """`ESCAPE ''''` ended a string early, and what followed was DuckDB's: it told a letter of a file on a worker. An escape
    of more letters did the same without Spark.
    """
    having = (
        "CASE WHEN count(*) > 1000000 THEN k LIKE 'a' ESCAPE '''' "
        f"ELSE k LIKE ') ELSE ((SELECT content FROM read_text($${secret}$$)) <> ' ESCAPE '''' END"
    )
    script = f"{STREAM}CREATE QUERY leak AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k HAVING {having}"
    assert answer(script, [(0, "x", 1), (1, "y", 2)]) == {"leak": []}
    where = f"k LIKE 'a' ESCAPE '!'' OR (SELECT count(*) FROM read_text(''{secret}'')) = 1 OR k LIKE ''z'"
    assert answer(f"{STREAM}CREATE QUERY leak AS SELECT ts, k FROM a WHERE {where}", [(0, "x", 1)]) == REFUSED
    with pytest.raises(HeadraceError, match="behind ESCAPE stands one letter of ASCII, like '!', got 'ab'"):
        LocalRun(f"{STREAM}CREATE QUERY q AS SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k HAVING k LIKE 'a' ESCAPE 'ab'")


def test_the_second_wall_stands_if_the_first_falls(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a quote forgotten, what a text smuggles in reaches no file."""
    monkeypatch.setattr("headrace.dialect.duck.quote_text", lambda text: f"'{text}'")
    text = f"' || (SELECT content FROM read_text($${secret}$$)) || '"
    script = f"{STREAM}CREATE QUERY q AS SELECT k, {write_text(text)} AS c FROM a [RANGE 5 SECONDS] GROUP BY k"
    with pytest.raises(HeadraceError, match="file system operations are disabled by configuration"):
        LocalRun(script)
    text = "' || (1 + 1) || '"  # the fall is real: this is computed
    script = f"{STREAM}CREATE QUERY q AS SELECT k, {write_text(text)} AS c FROM a [RANGE 5 SECONDS] GROUP BY k"
    found = answer(script, [(1, "x", 1)])
    assert found["q"][0][1] == "2"


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_a_file_of_bounds_may_have_any_name(ending: str, tmp_path: Path) -> None:
    """A name with quotes or letters of patterns means that file and no other, and so do the columns of groups."""
    stream = Stream("s", (), "t", "us", Ordered(), groups=('g"\'', "h`"))
    lines = {".json": '{"bound": 7, "g\\"\'": 1, "h`": 2}\n', ".csv": '"bound","g""\'","h`"\n7,1,2\n'}
    for number, text in enumerate(list_hostile_texts("secret")):
        if "/" in text or "\x00" in text or "\\" in text:  # DuckDB takes a backslash for a folder's end
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / f"x[1]{text}*?{ending}").write_text(lines[ending])
        assert list(read_files(str(folder), stream)) == [(7, 1, 2)], text
