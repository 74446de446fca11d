"""Files with mistakes: a sentence that names the file and the place; never a traceback, nothing silently taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from headrace.network.network_command import network

EXAMPLES = Path(__file__).parents[2] / "examples" / "network"
GOOD = """
nodes: [a, b]
links: [[a, b, 2]]
streams:
  S: {node: a, rate: 5, columns: {k: {width: 4, distinct: 10}, v: 20}}
  T: {node: b, rate: 5, columns: {k: {width: 4, distinct: 10}, w: 20}}
"""
ASKED = "queries: [{name: q, sink: b, join: [S.k = T.k], from: {S: {columns: [v]}, T: {columns: [w]}}}]"


def say(tmp_path, world: str = GOOD, queries: str = ASKED, *more: str) -> str:
    """What `headrace network plan` answers; an exception would be a traceback on a user's screen."""
    (tmp_path / "net.yaml").write_text(world, encoding="utf-8")
    (tmp_path / "q.yaml").write_text(queries, encoding="utf-8")
    result = CliRunner().invoke(
        network, ["plan", str(tmp_path / "net.yaml"), str(tmp_path / "q.yaml"), *more]
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.output


def test_an_empty_file_of_queries(tmp_path):
    """The entries that are expected are those of such a file."""
    assert "q.yaml: expected a mapping with `queries`; got nothing" in say(tmp_path, GOOD, "")


@pytest.mark.parametrize(
    ("old", "new", "name"), [("  T:", "  S:", "S"), ("rate: 5,", "rate: 5, rate: 50,", "rate"), ("nodes:", "nodes: []\nnodes:", "nodes")]
)
def test_entries_that_are_there_twice(tmp_path, old, new, name):
    """The first is not dropped in silence."""
    said = say(tmp_path, GOOD.replace(old, new, 1))
    assert f"net.yaml is not valid YAML: {name!r} is there twice" in said and "line " in said


def test_json_has_each_name_once(tmp_path):
    """As YAML does."""
    (tmp_path / "q.json").write_text('{"queries": [], "queries": []}', encoding="utf-8")
    (tmp_path / "net.yaml").write_text(GOOD, encoding="utf-8")
    result = CliRunner().invoke(network, ["plan", str(tmp_path / "net.yaml"), str(tmp_path / "q.json")])
    assert result.exit_code == 2
    assert "'queries' is there twice" in result.output


def test_the_good_file_is_good(tmp_path):
    """So that what follows fails for one reason each."""
    assert "total cost" in say(tmp_path)


NETWORKS = {
    "a rate that is text": (("rate: 5,", "rate: fast,"), "stream S, rate: expected a number; got 'fast'"),
    "a rate that is true": (("rate: 5,", "rate: true,"), "stream S, rate: expected a number; got True"),
    "a rate that is NaN": (("rate: 5,", "rate: .nan,"), "stream S, rate: expected a number; got nan"),
    "a rate below zero": (("rate: 5,", "rate: -5,"), "stream S, rate: expected a number of at least 0; got -5"),
    "an endless rate": (("rate: 5,", "rate: .inf,"), "stream S, rate: expected a finite number"),
    "a node that is a list": (("node: a", "node: [a]"), "stream S, node: expected a name; got ['a']"),
    "a time that is no column": (("v: 20}}", "v: 20}, time: ts}"), "stream 'S': its time 'ts' is no column; it has k, v"),
    "a time that is a list": (("v: 20}}", "v: 20}, time: [v]}"), "stream S, time: expected a name; got ['v']"),
    "an unknown entry": (("rate: 5,", "rate: 5, sise: 3,"), "stream S: unknown entry 'sise'; did you mean 'size'?"),
    "an unknown top entry": (("nodes:", "strems: {}\nnodes:"), "unknown entry 'strems'; did you mean 'streams'?"),
    "streams as a list": (("streams:", "streams: [S]\nfilters:"), "streams: expected a mapping"),
    "a negative count": (("distinct: 10", "distinct: -1"), "stream S, column k, distinct: expected a number above 0"),
    "a NaN latency": (("[a, b, 2]", "[a, b, .nan]"), "link a - b, latency: expected a number; got nan"),
    "a text latency": (("[a, b, 2]", "[a, b, '2']"), "link a - b, latency: expected a number; got '2'"),
    "hosts: maybe": (("[a, b]\nlinks", "[{name: a, hosts: maybe}, b]\nlinks"), "node a, hosts: expected true or false"),
    "a node of nothing": (("[a, b]\nlinks", "[a, b, null]\nlinks"), "nodes[2]: expected a name; got nothing"),
    "a position of three": (
        ("[a, b]\nlinks", "[{name: a, position: [1, 2, 3]}, b]\nlinks"), "node a, position: expected two numbers"),
    "a selectivity of no column": (
        ("streams:", "selectivities: {S.z = T.k: 0.1}\nstreams:"), "'S.z' is no column; stream 'S' has k, v"),
    "a filter of no stream": (("streams:", "filters: {X: {k = 1: 0.1}}\nstreams:"), "unknown stream 'X'"),
    "a filter above one": (("streams:", "filters: {S: {k = 1: 1.5}}\nstreams:"), "expected a number 0 to 1; got 1.5"),
    "low above high": (("distinct: 10}, v", "low: 5, high: 1}, v"), "stream S, column k: low 5 is above high 1"),
    "a generator below one": (
        ("nodes: [a, b]\nlinks: [[a, b, 2]]", "generate: {transit_stub: {transit: -4}}"),
        "generate.transit_stub.transit: expected a whole number of at least 1; got -4"),
    "an unknown generator entry": (
        ("nodes: [a, b]\nlinks: [[a, b, 2]]", "generate: {transit_stub: {size: 4}}"), "unknown entry 'size'"),
}  # fmt: skip


@pytest.mark.parametrize("case", NETWORKS)
def test_mistakes_in_a_network_file(tmp_path, case):
    """Wrong types, unknown keys, NaN, negative counts: the file, the place, what was expected, what came."""
    (before, after), message = NETWORKS[case]
    said = say(tmp_path, GOOD.replace(before, after, 1))
    assert said.startswith("Error: ")
    assert "net.yaml: " in said
    assert message in said


QUERIES = {
    "an unknown output column": (("columns: [v]", "columns: [x]"), "stream 'S' has no column 'x'; it has k, v"),
    "an unknown join column": (("S.k = T.k", "S.kk = T.k"), "stream 'S' has no column 'kk'; it has k, v"),
    "an unknown filter column": (("{columns: [v]}", "{where: [z = 1]}"), "stream 'S' has no column 'z'; it has k, v"),
    "columns as text": (("columns: [v]", "columns: v"), "query q, input S, columns: expected a list; got 'v'"),
    "two comparisons": (("{columns: [v]}", "{where: ['k = 1 AND v = 2']}"), "'k = 1 AND v = 2' is more than one comparison"),
    "a range in one": (("{columns: [v]}", "{where: ['1 < k < 5']}"), "'1 < k < 5' is more than one comparison"),
    "alternatives": (("{columns: [v]}", "{where: ['k = 1 OR k = 2']}"), "as `column IN (…)`"),
    "a comparison with nothing": (("{columns: [v]}", "{where: ['k =']}"), "expected a comparison such as `column = value`"),
    "a comparison with NaN": (("{columns: [v]}", "{where: ['k < nan']}"), "expected a finite number after <; got nan"),
    "an empty IN": (("{columns: [v]}", "{where: ['k IN (1,)']}"), "expected values between the commas"),
    "a window of zero": (("{columns: [v]}", "{window: 0 minutes}"), "query q, input S, window: expected a duration"),
    "a window that is no time": (("{columns: [v]}", "{window: 1.2.3 minutes}"), "query q, input S, window: expected a duration"),
    "a negative window": (("{columns: [v]}", "{window: -5}"), "query q, input S, window: expected a duration"),
    "a slide of soon": (("sink: b,", "sink: b, slide: soon,"), "query q, slide: expected a duration"),
    "an unknown entry": (("sink: b,", "sink: b, joins: [],"), "unknown entry 'joins'; did you mean 'join'?"),
    "a join of three": (("S.k = T.k", "S.k = T.k = S.v"), "expected `input.column = input.column` in `join`"),
    "a join that is no equality": (("S.k = T.k", "S.k <= T.k"), "expected `input.column = input.column` in `join`"),
    "a query of nothing": (("queries: [", "queries: [null, "), "queries[0]: expected a mapping"),
    "a sink of nothing": (("sink: b,", "sink: null,"), "`sink` is missing"),
    "a name twice": (("queries: [", "queries: [{name: q, sink: b, from: [S]}, "), "query 'q' is there twice"),
}  # fmt: skip


@pytest.mark.parametrize("case", QUERIES)
def test_mistakes_in_a_queries_file(tmp_path, case):
    """Unknown columns would travel for nothing, and a filter of two comparisons would be one odd value."""
    (before, after), message = QUERIES[case]
    said = say(tmp_path, GOOD, ASKED.replace(before, after, 1))
    assert said.startswith("Error: ")
    assert "q.yaml: " in said
    assert message in said


def test_what_looks_odd_but_is_right(tmp_path):
    """Quoted values with operators in them, functions, unequal, IS NULL, IN with commas in quotes."""
    for where in (
        "k = 'a AND b < c'",
        "k <> 3",
        "v IS NOT NULL",
        "abs(k) < 3",
        "k IN ('a,b', 'c')",
        "k = abc",
    ):
        said = say(tmp_path, GOOD, ASKED.replace("{columns: [v]}", "{where: [" + json.dumps(where) + "]}"))
        assert "total cost" in said, said


def test_folders_and_files_that_are_not_there(tmp_path):
    """Said with the path, for reading and for writing."""
    assert "cannot write" in say(tmp_path, GOOD, ASKED, "--out", str(tmp_path / "none" / "plan.txt"))
    assert "cannot read" in say(tmp_path, GOOD, ASKED, "--deployed", str(tmp_path / "none.json"))
    (tmp_path / "latin.yaml").write_bytes(b"queries: [\xe9]")
    result = CliRunner().invoke(network, ["plan", str(tmp_path / "net.yaml"), str(tmp_path / "latin.yaml")])
    assert "not UTF-8 text (byte 10)" in result.output
    (tmp_path / "file").write_text("")
    arguments = ["compare", "--network", "transit-stub:2x1x2", "--queries", "2", "--algorithm", "exact"]
    result = CliRunner().invoke(network, [*arguments, "--out", str(tmp_path / "file" / "figures")])
    assert isinstance(result.exception, SystemExit)
    assert "cannot write into" in result.output


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    """As Windows editors write it."""
    assert "total cost" in say(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n"), "\ufeff" + ASKED)


def test_counts_on_the_command_line(tmp_path):
    """Negative numbers of queries, rounds and members are refused."""
    assert "range" in say(tmp_path, GOOD, ASKED, "--improve", "-1")
    assert "range" in say(tmp_path, GOOD, ASKED, "--max-cs", "1")
    for arguments in (["--queries", "-3"], ["--max-cs", "0"]):
        assert "range" in CliRunner().invoke(network, ["compare", *arguments]).output
    for shape in ("4x-1x8", "4x4", "axbxc", "0x1x1"):
        result = CliRunner().invoke(network, ["compare", "--network", f"transit-stub:{shape}"])
        assert "TRANSITxSTUBSxSIZE" in result.output


def test_a_deployment_with_mistakes(tmp_path):
    """Another version, a feed from nowhere, a node that is not in the network, no deployment at all."""
    written = json.loads(say(tmp_path, GOOD, ASKED, "--format", "json"))
    again = ASKED.replace("name: q", "name: r")

    def beside(data: object) -> str:
        (tmp_path / "d.json").write_text(json.dumps(data))
        return say(tmp_path, GOOD, again, "--deployed", str(tmp_path / "d.json"))

    assert "total cost" in beside(written)
    deployment = written["deployment"]
    assert "version 7; expected 1" in beside({**deployment, "version": 7})
    assert "which the deployment does not have" in beside({**deployment, "operators": []})
    moved = json.loads(json.dumps(deployment).replace('"node": "b"', '"node": "z"'))
    assert "node 'z', which network" in beside(moved)
    assert "is not a deployment" in beside({"version": 1, "operators": [3], "deliveries": []})
    assert "is not a deployment" in beside({"version": 1})


def test_mistakes_in_sql_name_the_file(tmp_path):
    """A query without a sink, and text that is no SQL."""
    (tmp_path / "net.yaml").write_text(GOOD)
    for text, message in {
        "CREATE QUERY q AS SELECT S.v FROM S": "has no sink",
        "CREATE QUERY q AS SELEC": "q.sql",
        "CREATE QUERY q AS SELECT S.zz FROM S": "there is no column 'S.zz'. Did you mean 'S.v'?",
    }.items():
        (tmp_path / "q.sql").write_text(text)
        world = GOOD + ("sinks: {q: b}\n" if "zz" in text else "")
        (tmp_path / "net.yaml").write_text(world)
        result = CliRunner().invoke(network, ["plan", str(tmp_path / "net.yaml"), str(tmp_path / "q.sql")])
        assert isinstance(result.exception, SystemExit), repr(result.exception)
        assert "q.sql" in result.output
        assert message in result.output
