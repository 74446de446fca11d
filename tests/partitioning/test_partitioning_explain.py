"""EXPLAIN and advice: what they say of a query set, from its text."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.commands.plan_commands import explain
from headrace.errors import OptionError, PlanError
from headrace.partitioning.advise_partitioning import advise_graph, read_proposal
from headrace.partitioning.explain_partitioning import explain_partitioning
from headrace.session import Session
from headrace.sql import parse_script
from headrace.sql.bind import Binder

STREAMS = """
CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, destIP INT, len INT) PROGRESSING ON ts SLACK 5 SECONDS {clause} FROM 'rate';
CREATE STREAM dns (ts TIMESTAMP, address INT, name STRING) PROGRESSING ON ts ORDERED FROM 'rate';
"""
QUERIES = """
CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;
"""
JOIN = """
CREATE QUERY named AS SELECT t.ts, t.srcIP, d.name FROM tcp AS t LEFT JOIN dns AS d
  ON t.srcIP = d.address AND d.ts BETWEEN t.ts - INTERVAL 1 MINUTE AND t.ts;
"""


def make_binder(queries: str, clause: str = "") -> Binder:
    binder = Binder()
    for statement in parse_script(STREAMS.format(clause=clause) + queries):
        binder.create(statement)
    return binder


def test_verbose_text_has_what_was_weighed() -> None:
    """Sets, candidates, the choice, why, and the plan before and after; the short text has none of it."""
    session = Session().sql(STREAMS.format(clause="") + QUERIES + JOIN)
    assert "candidates" not in session.explain()
    text = session.explain(verbose=True)
    assert "    named's join  {dns.address = tcp.srcIP} or coarser\n" in text
    assert "  chosen: dns, tcp by {dns.address = tcp.srcIP}, " in text
    assert "  because: it serves every query; named receives the most, " in text
    before, after = text.split("  the plan with everything in one place:\n")[1].split("  the plan that runs:\n")
    assert "    aggregation heavy: in one slot, over super flows\n" in before
    assert "    aggregation heavy: in every slot, over super flows\n" in after
    assert "    join named$1: in every slot, over exchange 1 of tcp, exchange 1 of dns\n" in after


@pytest.mark.parametrize(
    ("clause", "said", "why"),
    [
        ("PARTITIONED BY (destIP)", "tcp comes partitioned by (destIP)", "no candidate has a smaller maximum; heavy receives"),
        ("PARTITIONED BY (len)", "tcp comes partitioned by (len)", "nothing that could be chosen serves a query"),
        ("PARTITIONABLE BY (srcIP & 240)", "tcp can only be partitioned by functions of (srcIP & 240)", "it serves every query"),
    ],
)
def test_declared_partitionings_decide(clause: str, said: str, why: str) -> None:
    """What a stream says of itself limits the choice, and is said with it."""
    lines = explain_partitioning(make_binder(QUERIES, clause).graph())
    assert lines[1] == f"  {said}"
    (reason,) = [line for line in lines if line.startswith("  because: ")]
    assert reason.startswith(f"  because: {why}")


def test_json_and_dot_have_it_too() -> None:
    """As data for programs, and as a drawing in which what is not served is dashed."""
    session = Session().sql(STREAMS.format(clause="PARTITIONED BY (destIP)") + QUERIES)
    data = json.loads(session.explain(format="json"))["partitioning"]
    assert data["chosen"] == {"tcp": ["destIP"]}
    assert data["restrictions"] == {"tcp": {"keys": ["destIP"], "fixed": True}}
    assert data["why"].endswith("left out: heavy")
    assert [c["serves"] for c in data["candidates"]] == [["flows"]]
    kinds = {"stream", "sub", "exchange", "super", "aggregation"}
    assert {n["kind"] for n in data["before"]["nodes"]} == {n["kind"] for n in data["after"]["nodes"]} == kinds
    places = [{n["place"] for n in data[when]["nodes"]} for when in ("before", "after")]
    assert places == [{"source tasks", "one slot"}, {"source tasks", "every slot"}]
    dot = session.explain(format="dot")
    assert '"p:flows" [label="flows\\n{destIP, srcIP} or coarser", shape=box, style=solid];' in dot
    assert '"p:heavy" [label="heavy\\n{srcIP} or coarser\\nreceives ' in dot
    assert dot.count("style=dashed") == 1
    assert '"p:flows" -> "p:heavy";' in dot


def test_a_set_without_joins_and_aggregations() -> None:
    """It needs no partitioning, and says so."""
    graph = make_binder("CREATE QUERY q AS SELECT ts, srcIP FROM tcp WHERE len > 1;").graph()
    assert "  because: no query brings rows together" in explain_partitioning(graph)


def test_several_joins_of_a_query_have_names() -> None:
    """The nodes inside a query are told apart."""
    text = """CREATE QUERY q AS SELECT a.ts, a.srcIP FROM tcp AS a LEFT SEMI JOIN dns AS d ON a.srcIP = d.address AND a.ts = d.ts
      UNION ALL SELECT a.ts, a.srcIP FROM tcp AS a LEFT ANTI JOIN dns AS d ON a.destIP = d.address AND a.ts = d.ts;"""
    lines = explain_partitioning(make_binder(text).graph())
    assert [line.split("  ")[2] for line in lines[2:4]] == ["q's join", "q's join 2"]


# -- advice --------------------
def test_advice_from_text() -> None:
    """Keys for every stream that has them, or for streams by name; each query's share is shown."""
    graph = make_binder(QUERIES + JOIN).graph()
    lines = advise_graph(graph, "tcp: destIP; DNS: address & 240")
    table = lines[lines.index("what each query pays:") + 1 :]
    assert [line.split()[0] for line in table[1:5]] == ["flows", "heavy", "named", "most"]
    assert table[2].endswith("of input") and table[1].endswith("0 B of results")
    assert lines[-2:] == ["partition tcp by srcIP", "partition dns by address"]
    assert {s: [k.text for k in keys] for s, keys in read_proposal(graph, "srcIP, destIP").items()} == {"tcp": ["srcIP", "destIP"]}


def test_the_advice_that_the_documentation_shows() -> None:
    """The page has the advice for its own query set, to the letter."""
    page = (Path(__file__).parents[2] / "docs" / "partitioning.md").read_text(encoding="utf-8")
    script = page.split("```sql\n")[1].split("```")[0]
    shown = page.split("```text\n")[1].split("```")[0]
    assert Session().sql(script).advise("srcIP, destIP") == shown


def test_the_plans_that_the_documentation_shows() -> None:
    """The page has both plans of its own query set, to the letter."""
    page = (Path(__file__).parents[2] / "docs" / "partitioning.md").read_text(encoding="utf-8")
    script = page.split("```sql\n")[1].split("```")[0]
    (shown,) = (text.split("```")[0] for text in page.split("```text\n") if text.startswith("the plan with everything"))
    assert textwrap.indent(shown, "  ") in Session().sql(script).explain(verbose=True)


def test_advice_within_what_is_declared() -> None:
    """It starts with what cannot be changed."""
    lines = advise_graph(make_binder(QUERIES, "PARTITIONED BY (destIP)").graph())
    assert lines[0] == "tcp comes partitioned by (destIP)"
    assert lines[-1] == "partition tcp by destIP"


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("udp: srcIP", "there is no stream 'udp'; there are tcp, dns"),
        ("port", "no stream has all of the columns port"),
        ("dns: srcIP", "there is no column 'srcIP'; it has ts, address, name"),
        ("tcp: ts", "ts is the progressing attribute"),
        ("tcp:", "expected at least one column or expression"),
    ],
)
def test_proposals_that_cannot_be(by: str, said: str) -> None:
    """The message names what there is."""
    with pytest.raises((OptionError, PlanError), match=said.replace("(", "[(]")):
        read_proposal(make_binder(QUERIES).graph(), by)


def test_a_declared_partitioning_is_checked_when_it_is_registered() -> None:
    """A column that is not there is named at once, not by the first EXPLAIN."""
    with pytest.raises(PlanError, match=r"stream tcp: PARTITIONED BY \(port\): there is no column 'port'"):
        Session().sql(STREAMS.format(clause="PARTITIONED BY (port)"))


# -- forced --------------------
def test_a_forced_partitioning_is_the_one_that_is_drawn(tmp_path: Path) -> None:
    """With --partition-by the plan of the run, what is said to be chosen, and the drawing are of the same partitioning."""
    file = tmp_path / "q.sql"
    file.write_text(TCP + FORCED)
    found = CliRunner().invoke(explain, [str(file), "--verbose", "--partition-by", "srcIP, destIP"])
    assert found.exit_code == 0, found.output
    assert "exchange 2 to t1 by (srcIP)" in found.output or "exchange 2 to t1 by srcIP" in found.output
    assert "chosen: tcp by {destIP, srcIP}" in found.output
    after = found.output.split("the plan that runs:")[1]
    assert "    exchange 1 of flows: by srcIP, destIP, over sub flows\n" in after
    assert "    sub heavy: in every slot, over super flows\n    exchange 2 of heavy: by srcIP, over sub heavy\n" in after
    data = json.loads(Session(partition_by="srcIP, destIP").sql(TCP + FORCED).explain("json"))
    assert data["partitioning"]["chosen"] == {"tcp": ["destIP", "srcIP"]}


def test_nothing_can_be_forced(tmp_path: Path) -> None:
    """--partition-by '' has everything in one place: no set serves a query, and before and after are one plan."""
    file = tmp_path / "q.sql"
    file.write_text(TCP + FORCED)
    found = CliRunner().invoke(explain, [str(file), "--verbose", "--partition-by", ""])
    assert found.exit_code == 0, found.output
    assert "partitioned by nothing (one mini-partition)" in found.output
    assert "  chosen: round robin, " in found.output
    before, after = found.output.split("  the plan with everything in one place:\n")[1].split("  the plan that runs:\n")
    assert after.startswith(before)


TCP = """CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, destIP INT) PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet' OPTIONS (path 'data');"""
FORCED = """CREATE QUERY flows AS SELECT srcIP, destIP, count(*) AS n FROM tcp [RANGE 1 MINUTE] GROUP BY srcIP, destIP;
CREATE QUERY heavy AS SELECT srcIP, max(n) AS m FROM flows GROUP BY srcIP;"""
