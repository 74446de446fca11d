"""SQL in, plan out: what each rule of the optimizer decides, a folder to a rule.

A case in a `.sql` file is a comment that names it, a script, and after `-- =>` what is expected, as comments. New cases
are text only. `HEADRACE_FIXTURES=write` writes what is found into the files, to be read before it is committed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.errors import HeadraceError
from headrace.optimizer import RULES, Plan, Settings, optimize
from headrace.optimizer.describe import describe_part_keys
from headrace.optimizer.plan import PaneTable, RowTable, TransitTable
from headrace.partitioning.plan_cost import RateStatistics
from headrace.physical.duck_typer import DuckTyper
from headrace.sql import parse_script
from headrace.sql.bind import Binder
from headrace.windows.describe_window import describe_window
from sql_cases import read_cases, write_case

PREAMBLE = """
CREATE STREAM tcp (ts TIMESTAMP, srcIP INT, destIP INT, len INT, flags INT, name STRING, x DOUBLE)
  PROGRESSING ON ts SLACK 5 SECONDS FROM 'parquet' OPTIONS (path 'data');
CREATE STREAM udp (ts TIMESTAMP, srcIP BIGINT, len BIGINT) PROGRESSING ON ts SLACK 1 MINUTE FROM 'parquet' OPTIONS (path 'u');
CREATE STREAM ticks (time BIGINT, k STRING, v DOUBLE) PROGRESSING ON time ORDERED FROM 'kafka';
CREATE STREAM links (ts TIMESTAMP, link INT, k STRING, done BOOLEAN) PROGRESSING ON ts PUNCTUATED BY (done) FOR (link)
  FROM 'kafka';
"""
HERE = Path(__file__).parent
NAMES = [rule.__name__ for rule in RULES]


FILES = sorted(HERE.glob("*/*.sql"))
ALL = [pytest.param(p, *case, id=f"{p.parent.name}: {case[0]}") for p in FILES for case in read_cases(p)]


@pytest.mark.parametrize(("path", "name", "text", "expected"), ALL)
def test_rule(path: Path, name: str, text: str, expected: str) -> None:
    """What the rule decides is what the file says."""
    found = outcome(path.parent.name, text)
    if os.environ.get("HEADRACE_FIXTURES") == "write":
        write_case(path, name, found)
    else:
        assert found == expected


def test_every_rule_has_cases() -> None:
    """A new rule comes with a folder, and a folder is a rule's."""
    assert {path.parent.name for path in FILES} == {*NAMES, "tables"} == set(SHOW)


def outcome(rule: str, text: str) -> str:
    binder = Binder()
    settings = Settings(
        retired=frozenset(re.findall(r"-- retired: (\w+)", text)),
        cohorts={name: int(n) for name, n in re.findall(r"-- cohort: (\w+) (\d+)", text)},
        measured=RateStatistics(origins=dict.fromkeys(re.findall(r"-- measured: (\w+)", text), "measured")),
    )
    try:
        streams = parse_script(PREAMBLE)
        statements = parse_script(text)
        for statement in [*(s for s in streams if s.name in text), *statements]:
            binder.create(statement)
        graph = binder.graph()
        return "\n".join(SHOW[rule](optimize(graph, DuckTyper(graph, {}), settings)))
    except HeadraceError as e:
        return f"{type(e).__name__}: {e}"


# -- what a rule has decided, in words --------------------
def show_relations(plan: Plan) -> list[str]:
    return [f"{name}{'' if name in plan.used else ' (retired)'}" for name in plan.relations]


def show_types(plan: Plan) -> list[str]:
    out = []
    for name in plan.relations:
        out.append(f"{name}: " + ", ".join(f"{c} {t}" for c, t in plan.types[name].items()))
        if name in plan.aggregates:
            typed = plan.aggregates[name]
            out.append(f"  keys ({', '.join(typed.keys)}), calls {[', '.join(a) for a in typed.arguments]}")
    return out


def show_passages(plan: Plan) -> list[str]:
    return [
        f"{name}: waits for {', '.join(p.streams)}, progress on {', '.join(p.columns) or 'nothing'}"
        for name, p in plan.passages.items()
    ]


def show_tables(plan: Plan) -> list[str]:
    out = []
    for table in plan.tables.values():
        if isinstance(table, PaneTable):
            unit = plan.graph.relations[table.members[0]].unit
            windows = "; ".join(describe_window(w, unit) for w in table.windows) or "no window in use"
            grid = f"panes of {table.grid.width} from {table.grid.offset}"
            out.append(f"{table.id} {table.label}: {', '.join(table.members)} on {grid} [{windows}]")
    return out


def show_places(plan: Plan) -> list[str]:
    out = []
    for name, parts in plan.parts.items():
        for part in parts:
            keys = describe_part_keys(part)
            by = "nobody knows" if keys is None else ", ".join(keys) or "one place"
            out.append(f"{name}: level {part.level} of {part.table}, by {by}{' in folders' if part.by_folder else ''}")
    out += [f"no exchange to {id_}" for id_ in sorted(plan.by_folder)]
    out += [f"exchange {e.level + 1} to {e.table} by ({', '.join(e.by)}): {e.reason}" for e in plan.exchanges]
    return out


def show_stored(plan: Plan) -> list[str]:
    out = []
    for table in plan.tables.values():
        columns = f" ({', '.join(table.columns)})" if isinstance(table, RowTable | TransitTable) else ""
        out.append(f"{table.id} {table.label}{columns}: for {', '.join(table.members)}")
    return out


def show_early(plan: Plan) -> list[str]:
    keys = {id_: [t.list_keys(plan.graph)[i] for i in t.closes_early] for id_, t in plan.tables.items()}
    return [
        f"{id_} {plan.tables[id_].label}: " + (f"each ({', '.join(k.sql(dialect='spark') for k in found)})" if found else "all at once")
        for id_, found in keys.items()
    ]


def show_bounds(plan: Plan) -> list[str]:
    bounds = {id_: table.bound(plan.graph) for id_, table in plan.tables.items()}
    return [f"{id_} {plan.tables[id_].label}: {b.keeps}, {b.until}" for id_, b in bounds.items()]


def show_columns(plan: Plan) -> list[str]:
    out = [
        f"{stream}.{c.name} = {c.expression.sql(dialect='spark')} ({c.type})"
        for stream, columns in plan.columns.items()
        for c in columns
    ]
    for table, feeds in plan.feeds.items():
        for feed in feeds:
            calls = {m: [[*c.arguments, *([f"where {c.where}"] if c.where else [])] for c in cs] for m, cs in feed.calls.items()}
            out.append(f"{table} from {feed.stream} where {feed.where} by {', '.join(feed.keys) or 'all'}: {calls}")
    return out + [f"{p.query} from {p.stream} where {p.where}: {', '.join(p.columns)}" for p in plan.passing]


def show_readings(plan: Plan) -> list[str]:
    return [f"{s}: {'in the tasks' if r.in_tasks else f'by Spark: {r.reason}'}" for s, r in plan.readings.items()]


SHOW: dict[str, Callable[[Plan], list[str]]] = {
    "prune_relations": show_relations,
    "type_columns": show_types,
    "pass_progress": show_passages,
    "share_panes": show_tables,
    "place_relations": show_places,
    "release_tables": show_stored,
    "close_groups": show_early,
    "tables": show_bounds,  # no rule: what each table says of itself
    "collect_columns": show_columns,
    "choose_reader": show_readings,
    "check_plan": lambda plan: ["fine"],
    "check_placement": show_places,
}
