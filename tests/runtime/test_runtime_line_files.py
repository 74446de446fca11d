"""Files of lines as people have them: headers in any order, lines that do not parse, byte order marks, Windows' line ends."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import SourceError
from spark_kit import drained, multiset, place, session

QUERY = "CREATE QUERY q AS SELECT k, sum(v) AS sv, sum(w) AS sw FROM s [RANGE 1 MINUTE] GROUP BY k;"


def write_lines(folder: Path, name: str, lines: list[str], number: int = 0, end: str = "\n", mark: str = "") -> None:
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{name}"
    hidden.write_bytes((mark + "".join(line + end for line in lines)).encode())
    place(hidden, folder / name, number)


def script(folder: Path, kind: str = "csv", **options: str) -> str:
    given = "".join(f", {k} '{v}'" for k, v in options.items())
    return (
        f"CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, w INT) PROGRESSING ON ts SLACK 1 MINUTE FROM '{kind}' "
        f"OPTIONS (path '{folder}'{given}, maxFilesPerTrigger 1);" + QUERY
    )


def rows(run: Any) -> Counter[tuple[Any, ...]]:
    return multiset(run.results("q").arrow(), ["k", "sv", "sw"])


def test_columns_follow_the_header(spark: Any, tmp_path: Path) -> None:
    """With a header, columns are found by name: another order, another case and columns nobody declared change nothing."""
    header = "W,extra,ts,v,k"
    write_lines(tmp_path / "s", "a.csv", [header, "10,x,2024-03-09T22:00:01Z,1,a", "20,y,2024-03-09T22:00:02Z,2,b"])
    write_lines(tmp_path / "s", "b.csv", [header, "30,z,2024-03-09T22:00:03Z,3,a"], 1)
    run = drained(spark, tmp_path / "ck", script(tmp_path / "s", header="true"), flush=True)
    assert rows(run) == {("a", 4, 40): 1, ("b", 2, 20): 1}
    assert run.late("s").arrow().num_rows == 0


def test_a_header_without_a_column(spark: Any, tmp_path: Path) -> None:
    """A header that lacks a declared column is refused before anything runs, with the columns there are."""
    write_lines(tmp_path / "s", "a.csv", ["ts,k,V2,w", "2024-03-09T22:00:01Z,a,1,2"])
    with pytest.raises(SourceError, match=rf"stream s: .* at {tmp_path}/s has no column v; it has ts, k, V2, w"):
        session(spark, tmp_path / "ck", script(tmp_path / "s", header="true")).start(available_now=True)


@pytest.mark.parametrize("header", ["ts,k,v,w,v", "ts,k,v,V,w"])
def test_a_header_with_a_column_twice(spark: Any, tmp_path: Path, header: str) -> None:
    """Which of the two is meant nobody knows; the message has the name in the file, not the one Spark makes of it."""
    write_lines(tmp_path / "s", "a.csv", [header, "2024-03-09T22:00:01Z,a,1,2,3"])
    with pytest.raises(SourceError, match=r"at .*/s has the column v more than once"):
        session(spark, tmp_path / "ck", script(tmp_path / "s", header="true")).start(available_now=True)


ORDERS = {
    "a.csv": ["ts,k,v,w", "2024-03-09T22:00:01Z,a,1,10", "2024-03-09T22:00:02Z,b,x,20"],
    "b [1] %20.csv": ["w,K,more,ts,v", "30,a,?,2024-03-09T22:00:03Z,3", "short,line"],
    "c.csv": ["v,w,k,ts", "4,40,\"a\",2024-03-09T22:00:04Z"],
    "d.csv": ['"ts","k","v","w"', "2024-03-09T22:00:05Z,b,5,50"],
    "e.csv": [],
}


@pytest.mark.parametrize("per_batch", [1, 10])
def test_each_file_is_matched_by_its_own_header(spark: Any, tmp_path: Path, per_batch: int) -> None:
    """Files of one stream with columns in different order, one batch each or all in one; malformed lines keep their text."""
    for number, (name, lines) in enumerate(ORDERS.items()):
        write_lines(tmp_path / "s", name, lines, number)
    text = script(tmp_path / "s", header="true").replace("maxFilesPerTrigger 1", f"maxFilesPerTrigger {per_batch}")
    run = drained(spark, tmp_path / "ck", text, flush=True)
    assert rows(run) == {("a", 8, 80): 1, ("b", 5, 50): 1}
    late = {(r["_text"], r["_reason"]) for r in run.late("s").arrow().to_pylist()}
    assert late == {("2024-03-09T22:00:02Z,b,x,20", "malformed"), ("short,line", "malformed")}


def test_own_headers_beside_other_streams(spark: Any, tmp_path: Path) -> None:
    """Where one stream's files are matched again, those of other streams in the batch are neither lost nor doubled, whether
    they have headers or not; partition columns are not looked for in a header.
    """
    write_lines(tmp_path / "s", "a.csv", ["ts,k,v,w", "2024-03-09T22:00:01Z,a,1,10"])
    write_lines(tmp_path / "s", "b.csv", ["w,v,ts,k", "20,2,2024-03-09T22:00:01Z,a"], 1)
    write_lines(tmp_path / "t", "a.csv", ["2024-03-09T22:00:01Z,j,7,70"])
    (tmp_path / "u").mkdir()
    write_lines(tmp_path / "u" / "k=x y", "a.csv", ["v,ts,w", "5,2024-03-09T22:00:01Z,50"])
    write_lines(tmp_path / "u" / "k=z", "a.csv", ["w,ts,v", "60,2024-03-09T22:00:01Z,6"])
    text = script(tmp_path / "s", header="true")
    text += script(tmp_path / "t").replace("STREAM s", "STREAM t").replace("QUERY q", "QUERY p").replace("FROM s", "FROM t")
    other = script(tmp_path / "u", header="true").replace("STREAM s", "STREAM u").replace("QUERY q", "QUERY o")
    text += other.replace("FROM s", "FROM u")
    run = drained(spark, tmp_path / "ck", text.replace("maxFilesPerTrigger 1", "maxFilesPerTrigger 9"), flush=True)
    assert rows(run) == {("a", 3, 30): 1}
    assert multiset(run.results("p").arrow(), ["k", "sv", "sw"]) == {("j", 7, 70): 1}
    assert multiset(run.results("o").arrow(), ["k", "sv", "sw"]) == {("x y", 5, 50): 1, ("z", 6, 60): 1}


def test_a_later_file_without_a_column(spark: Any, tmp_path: Path) -> None:
    """A file whose header lacks a declared column is refused by name, and nothing of it is committed."""
    write_lines(tmp_path / "s", "a.csv", ["ts,k,v,w", "2024-03-09T22:00:00.000001Z,a,1,10"])  # the larger one is looked at first
    write_lines(tmp_path / "s", "b.csv", ["ts,k,w,V2", "2024-03-09T22:00:02Z,a,20,2"], 1)
    run = session(spark, tmp_path / "ck", script(tmp_path / "s", header="true")).start(available_now=True)
    with pytest.raises(SourceError, match=r"batch 2: .*/b\.csv: its header does not fit: it has no column v; it has ts, k, w, V2"):
        run.wait()
    write_lines(tmp_path / "s", "b.csv", ["ts,k,w,v", "2024-03-09T22:00:02Z,a,20,2"], 1)
    run = drained(spark, tmp_path / "ck", script(tmp_path / "s", header="true"), flush=True)
    assert rows(run) == {("a", 3, 30): 1}


def test_files_of_two_streams_in_different_order(spark: Any, tmp_path: Path) -> None:
    """Which of two streams a file is new to is not known if both read its folder; another order of columns is refused then."""
    write_lines(tmp_path / "s", "a.csv", ["ts,k,v,w", "2024-03-09T22:00:01Z,a,1,10"])
    text = script(tmp_path / "s", header="true")
    text += text.replace("STREAM s", "STREAM t").replace("QUERY q", "QUERY p").replace("FROM s", "FROM t").replace("w INT", "w LONG")
    assert rows(drained(spark, tmp_path / "ck", text)) == {}
    write_lines(tmp_path / "s", "b.csv", ["w,v,ts,k", "20,2,2024-03-09T22:00:01Z,a"], 1)
    run = session(spark, tmp_path / "ck", text).start(available_now=True)
    with pytest.raises(SourceError, match=r"batch 2: .*different order, and .*/b\.csv is of several streams"):
        run.wait()


def test_headers_before_files(spark: Any, tmp_path: Path) -> None:
    """A folder that is empty at the start is fine; files that come are compared with the declaration."""
    (tmp_path / "s").mkdir()
    text = script(tmp_path / "s", header="true")
    assert drained(spark, tmp_path / "ck", text).reports == drained(spark, tmp_path / "ck", text).reports
    write_lines(tmp_path / "s", "a.csv", ["ts,k,v,w", "2024-03-09T22:00:01Z,a,1,10"])
    assert rows(drained(spark, tmp_path / "ck", text, flush=True)) == {("a", 1, 10): 1}


def test_malformed_lines_beside_late_rows(spark: Any, tmp_path: Path) -> None:
    """Two streams, one of lines: the text is kept where there is one, and other reasons stay what they are."""
    write_lines(
        tmp_path / "s", "a.csv",
        ["2024-03-09T22:10:00Z,a,1,1", "2024-03-09T22:10:01Z,b,x1,2", "2024-03-09T22:10:02Z,c,1,2,3", "2999-01-01T00:00:00Z,d,1,1"],
    )  # fmt: skip
    write_lines(tmp_path / "s", "b.csv", ["2024-03-09T22:00:00Z,late,1,1", "2024-03-09T22:11:30Z,a,5,5"], 1)
    write_lines(tmp_path / "t", "a.json", ['{"ts": "2024-03-09T22:10:00Z", "k": "j", "v": 7, "w": 7}', '{"k": '])
    other = script(tmp_path / "t", "json").replace("STREAM s", "STREAM t").replace("QUERY q", "QUERY p").replace("FROM s", "FROM t")
    run = drained(spark, tmp_path / "ck", script(tmp_path / "s") + other, flush=True)
    late = {(r["k"], r["v"], r["_text"], r["_reason"]) for r in run.late("s").arrow().to_pylist()}
    assert late == {
        ("b", None, "2024-03-09T22:10:01Z,b,x1,2", "malformed"),
        ("c", 1, "2024-03-09T22:10:02Z,c,1,2,3", "malformed"),
        ("d", 1, None, "implausible"),
        ("late", 1, None, "late"),
    }
    assert [(r["_text"], r["_reason"]) for r in run.late("t").arrow().to_pylist()] == [('{"k": ', "malformed")]
    assert rows(run) == {("a", 1, 1): 1, ("a", 5, 5): 1}
    assert multiset(run.results("p").arrow(), ["k", "sv", "sw"]) == {("j", 7, 7): 1}


def test_the_users_own_column_for_bad_lines(spark: Any, tmp_path: Path) -> None:
    """Who declares Spark's column for such lines deals with them: they are rows like others."""
    write_lines(tmp_path / "s", "a.csv", ["2024-03-09T22:00:00Z,a,1", "2024-03-09T22:00:01Z,b,x"])
    text = (
        "CREATE STREAM s (ts TIMESTAMP, k STRING, v INT, bad STRING) PROGRESSING ON ts SLACK 1 MINUTE FROM 'csv' "
        f"OPTIONS (path '{tmp_path}/s', columnNameOfCorruptRecord 'bad');"
        "CREATE QUERY q AS SELECT count(*) AS n, count(bad) AS bad FROM s [RANGE 1 MINUTE];"
    )
    run = drained(spark, tmp_path / "ck", text, flush=True)
    assert multiset(run.results("q").arrow(), ["n", "bad"]) == {(2, 1): 1}
    assert run.late("s").arrow().column_names == ["ts", "k", "v", "bad", "_reason"]


@pytest.mark.parametrize("kind", ["csv", "json", "header"])
def test_windows_files(spark: Any, tmp_path: Path, kind: str) -> None:
    """A byte order mark at the start and CR LF at the ends of lines are not part of any value."""
    if kind == "json":
        lines = [f'{{"ts": "2024-03-09T22:00:0{i}Z", "k": "ä", "v": {i}, "w": 1}}' for i in range(3)]
    else:
        lines = ["ts,v,w,k"] if kind == "header" else []
        lines += [f"2024-03-09T22:00:0{i}Z," + (f"{i},1,ä" if kind == "header" else f"ä,{i},1") for i in range(3)]
    write_lines(tmp_path / "s", "a.txt", lines, end="\r\n", mark="\ufeff")
    options = {"header": "true"} if kind == "header" else {}
    format_ = "json" if kind == "json" else "csv"
    run = drained(spark, tmp_path / "ck", script(tmp_path / "s", format_, **options), flush=True)
    assert rows(run) == {("ä", 3, 3): 1}
    assert run.late("s").arrow().num_rows == 0
