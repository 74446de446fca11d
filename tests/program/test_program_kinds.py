"""Kinds of nodes and steps say what they are: every kind is in its list, and nobody else asks for one."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from headrace.kernels.late_rows import drop_late, find_taken_from, has_late
from headrace.kernels.slot_kinds import OPERATORS, RUNNERS
from headrace.logical.join_kind import JoinKind
from headrace.physical.relation_kinds import RELATIONS
from headrace.program import aggregations, row_joins, slot_steps, table_lookups, version_joins
from headrace.program.aggregations import ClosedWindows, PaneNode
from headrace.program.dealt_tables import find_dealt_tables
from headrace.program.node import Node, SourceFeed
from headrace.program.program import Level, Program
from headrace.program.row_joins import RowNode
from headrace.program.slot_steps import Advance, Compute, Send
from headrace.program.step import Step
from headrace.program.table_lookups import LookUp, TransitNode
from headrace.program.version_joins import FindVersions, VersionNode
from headrace.program.waiting_obstacle import find_waiting_obstacle
from headrace.progress import NOTHING_KNOWN, Frontier
from headrace.windows import Grid, Sliding

SOURCE = Path(inspect.getfile(Node)).parents[1]
FEED = SourceFeed("s", None, ("c0",), ("c1",))
COMMON = {"label": "rows of s", "waits": (), "keys": 1, "partition": (0,)}
ROWS = RowNode(name="n1", level=0, values=1, nulls=False, feeds=(FEED,), **COMMON)
PANES = PaneNode(
    name="n2", level=0, merges=("sum(p0)",), grid=Grid(10, 0), outputs=(ClosedWindows(Sliding(range=20, slide=10), "w"),), feeds=(FEED,), **COMMON
)
PASSED = TransitNode(name="n3", level=0, names=("v",), view="p", feeds=(FEED,), **COMMON)
VERSIONS = VersionNode(name="n4", level=0, values=1, nulls=False, feeds=(FEED,), **COMMON)


def kinds(base: type) -> set[type]:
    """The kinds that something can be of: not the classes they share."""
    modules = (aggregations, row_joins, slot_steps, table_lookups, version_joins)
    found = {c for m in modules for _, c in inspect.getmembers(m, inspect.isclass) if issubclass(c, base)}
    return {c for c in found if not inspect.isabstract(c)}


def program(nodes: tuple[Node, ...], *steps: Step) -> Program:
    return Program("f", 8, (), nodes, (Level(steps, frozenset()),), (), (), (), (), {}, {})


def test_every_kind_is_in_its_list() -> None:
    """A kind that the lists do not know fails when a slot meets it; here it fails before."""
    assert set(OPERATORS) == kinds(Node)
    assert set(RUNNERS) == kinds(Step)
    assert {kind.__name__ for kind in RELATIONS} == {"Aggregate", "Derive", "Join", "Lookup", "Merge", "TemporalJoin"}


def asked_kinds(tree: ast.AST) -> Iterator[str]:
    names = {kind.__name__ for base in (Node, Step) for kind in (*kinds(base), base)}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "isinstance":
            yield from (n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name) and n.id in names)


def test_nobody_asks_what_kind_a_node_or_step_is() -> None:
    """Outside the lists there is no ladder of kinds."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "headrace.program." in text and (asked := sorted(asked_kinds(ast.parse(text)))):
            found[str(path.relative_to(SOURCE))] = asked
    assert found == {}
    assert list(asked_kinds(ast.parse("isinstance(x, (RowNode, int))"))) == ["RowNode"]


def test_a_join_takes_rows_from_what_was_known_on() -> None:
    """The row at the bound is taken, the one before it is not, one of no time is never late; other nodes take all."""
    rows = "SELECT * FROM (VALUES (4), (5), (6), (NULL)) AS r(_t)"
    con = duckdb.connect()

    def taken(node: Node, known: Frontier) -> list[int | None]:
        return [t for (t,) in con.sql(drop_late(node, known, rows)).fetchall()]

    assert taken(ROWS, Frontier(5)) == [5, 6, None]
    assert taken(VERSIONS, Frontier(6)) == [6, None]
    assert taken(ROWS, NOTHING_KNOWN) == taken(PANES, Frontier(5)) == taken(PASSED, Frontier(5)) == [4, 5, 6, None]
    assert (find_taken_from(Frontier(5)), find_taken_from(NOTHING_KNOWN)) == (5, None)


@pytest.mark.parametrize(("node", "column", "last"), [(PANES, "pane", 40), (PASSED, "_t", 49)])
def test_rows_may_be_late_by_the_bound_that_is_furthest(node: Node, column: str, last: int) -> None:
    """A pane's windows end with it, or later; a row that passes is late by itself. Joins were given none that is."""
    known = Frontier(10, ((("a",), 50),))
    assert has_late(node, known, pa.table({column: [70, last]}))
    assert not has_late(node, known, pa.table({column: [70, last + 1]}))
    assert not has_late(node, known, pa.table({column: pa.array([None], pa.int64())}))
    assert not has_late(ROWS, known, pa.table({"_t": [0]}))


def test_why_rows_must_not_wait() -> None:
    """Folders, late rows that are looked up on their way to other slots, and late rows counted together with results."""
    look_up = LookUp("l", "", "p", "t", "static_l", (), (), (), True)
    later = replace(PANES, name="n5", level=1, label="sums", feeds=())
    there, here = Send("n5", "", "r", False), Send("n5", "", "r", True)
    renamed = Compute("r", "", "l")
    assert find_waiting_obstacle(program((ROWS, PANES, PASSED, later), look_up, renamed, here)) is None
    assert find_waiting_obstacle(program((PASSED, later), Compute("r", "", "w"), there)) is None
    looked_up = find_waiting_obstacle(program((PASSED, later), look_up, renamed, there))
    assert looked_up == "rows of sums are looked up first and may be late"
    beside = "sums has rows of streams beside results of queries, and these may be late"
    assert find_waiting_obstacle(program((replace(later, feeds=(FEED,)),))) == beside
    assert find_waiting_obstacle(program((replace(ROWS, level=1),))) is None
    assert find_waiting_obstacle(program((replace(ROWS, by_folder=True),))) == "slots read rows of folders by themselves"
    assert find_waiting_obstacle(program((replace(ROWS, by_folder=True, feeds=()),))) is None


def test_tables_of_versions_are_not_dealt() -> None:
    """Neither the versions nor the rows that look for theirs; nor rows kept by folder."""
    step = FindVersions("j", "n1", "n4", "", "", JoinKind.INNER, 1, (), "", None, "rule")
    found = find_dealt_tables(program((ROWS, VERSIONS), Advance("n1"), step))
    assert {table.obstacle for table in found.values()} == {"rows of s is kept in versions"}
    assert step.find_dealing_obstacle("n1", str) == "versions of keys are looked for in it"
    assert (ROWS.find_dealing_obstacle(), replace(ROWS, by_folder=True).find_dealing_obstacle()) == (
        None,
        "rows of s is kept by folder",
    )


def test_what_is_kept_has_words() -> None:
    """Rows that wait are those of a node of their own, which `headrace state` shows with a label too."""
    assert program((ROWS,)).label_nodes() == {"n1": "rows of s", "n1-waiting": "rows of s, waiting"}


def test_static_tables_are_read_once_for_all_lookups() -> None:
    """All columns that lookups read, and each set of keys once."""
    one = LookUp("a", "", "p", "t", "static_a", ("x",), ("k",), ("c",), True)
    other = replace(one, view="b", columns=("y", "x"), keys=())
    (use,) = program((PASSED,), one, other, one).static_tables()
    assert (use.table, use.columns, use.keys) == ("t", ("x", "y"), (("k",), ()))
