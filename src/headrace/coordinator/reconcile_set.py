"""What may change about a query set on a checkpoint, at a start and between two batches.

Queries may be added (they answer from the first window that begins after they were added, so that every answer they give is
complete) and removed. What would make committed results wrong or unreadable is refused, and the message says what differs:
another stream, another set altogether, another text under the same name, another time zone. A record whose run never
committed anything binds nobody.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import duckdb
from sqlglot.dialects.spark import Spark

from headrace.coordinator.epoch_record import (
    FOLDER,
    EpochRecord,
    describe_streams,
    describe_tables,
    hash_probe,
)
from headrace.errors import CheckpointError
from headrace.logical.graph import Graph
from headrace.optimizer import Plan
from headrace.optimizer.explain_plan import draw_plan
from headrace.program.limits import SHIPPED
from headrace.program.node import Node
from headrace.program.program import Program
from headrace.state import Manifest, Store


def reconcile(
    store: Store,
    old: EpochRecord | None,
    graph: Graph,
    time_zone: str,
    partition_by: str | None = None,
    pids: int = SHIPPED.mini_partitions,
) -> EpochRecord:
    """The record for a graph on a checkpoint that may have an `old` one; refuses what cannot be continued. A new checkpoint
    has so many mini-partitions, `pids`.
    """
    where = f"checkpoint {store.uri}"
    probe = hash_probe()
    streams = describe_streams(graph)
    if old is None:
        fresh = {n: {"text": t, "cohort": 0, "retired": False} for n, t in graph.queries.items()}
        tables = describe_tables(graph)
        return EpochRecord(
            streams, fresh, pids, hash=probe, time_zone=time_zone, tables=tables, partition_by=partition_by
        )
    live = {n for n, q in old.queries.items() if not q["retired"]}
    if different := _difference(old.streams, streams):
        raise CheckpointError(f"{where} belongs to other streams: {different}. Use a new checkpoint")
    if partition_by is not None and partition_by != old.partition_by:
        kept = "what was best" if old.partition_by is None else old.partition_by or "nothing"
        raise CheckpointError(
            f"{where} has its state partitioned by {kept}, not by {partition_by!r}; "
            "state is never partitioned anew. Leave the option out, or use a new checkpoint"
        )
    tables = describe_tables(graph)
    for name in old.tables.keys() & tables.keys():
        before, now = ({c: type_ for c, type_ in t[name]} for t in (old.tables, tables))  # noqa: C416
        if changed := [c for c, t in before.items() if now.get(c, t) != t]:
            raise CheckpointError(
                f"{where}: column {changed[0]} of table {name} was {before[changed[0]]} and is {now[changed[0]]}; results of "
                "before would not fit those of now. Declare it as it was, give the table another name, or use a new checkpoint"
            )
    streams = {name: streams[name] for name in old.streams}  # Spark's log knows sources by their place
    if time_zone != old.time_zone:
        raise CheckpointError(
            f"{where} was written with the session time zone {old.time_zone}, this session has {time_zone}; "
            f"a window half of each would be wrong. Set spark.sql.session.timeZone to {old.time_zone}, or use a new checkpoint"
        )
    if live and graph.queries and not live & set(graph.queries):
        raise CheckpointError(
            f"{where} belongs to another query set: it has {', '.join(sorted(live))}, this one has "
            f"{', '.join(sorted(graph.queries))}. Use a new checkpoint for a new set"
        )
    if probe != old.hash:
        raise CheckpointError(
            f"{where} was written with another DuckDB, whose hash function differs from {duckdb.__version__}'s; its state "
            "cannot be continued. Use the version it was written with, or a new checkpoint"
        )
    queries: dict[str, dict[str, Any]] = {n: dict(q) for n, q in old.queries.items()}
    newest = max((q["cohort"] for q in queries.values()), default=0)
    for name, text in graph.queries.items():
        known = queries.get(name)
        if known is None:
            queries[name] = {"text": text, "cohort": newest + 1, "retired": False}
        elif known["retired"]:
            raise CheckpointError(
                f"{where}: query {name} was removed from this checkpoint before; add it under another name"
            )
        elif not same_text(known["text"], text):
            raise CheckpointError(
                f"{where}: query {name} has changed.\n  before: {_words(known['text'])}\n  now:    {_words(text)}\n"
                "Its committed results answer the old text: give the new one another name, or use a new checkpoint"
            )
    for name in live - set(graph.queries):
        queries[name]["retired"] = True
    return replace(old, streams=streams, queries=queries, tables={**old.tables, **tables}, by_folder=old.by_folder or [])


def take_over(store: Store, old: EpochRecord | None, graph: Graph) -> None:
    """Take over a checkpoint where nothing was committed; Spark's log goes too if it is of other sources."""
    if old is not None and list(describe_streams(graph).items()) != list(old.streams.items()):
        for path in store.list("spark"):
            store.delete(path)
    for path in store.list(FOLDER):
        store.delete(path)


def settle(
    store: Store, record: EpochRecord, plan: Plan, program: Program, manifest: Manifest | None
) -> EpochRecord:
    """The record with the nodes and schemas of the program: new nodes are born now, after `manifest`."""
    born: dict[str, int | None] = {}
    for node in program.nodes:
        if node.name in record.born:
            born[node.name] = record.born[node.name]
        else:
            states = [(w, manifest.streams[w.stream]) for w in node.waits] if manifest is not None else []
            apart = sum(n.reach for n in program.nodes)
            known = [(w, t) for w, s in states for t in (s.max_seen, s.low_watermark) if t is not None]
            born[node.name] = max((w.look_ahead(t, apart) for w, t in known), default=None)
            _can_begin(store, node, born[node.name])
    placements = {
        name: {"keys": list(one.keys), "sets": dict(one.sets), "numbers": one.numbers}
        for name, one in plan.placements.items()
    }
    return replace(
        record,
        born=born,
        by_folder=sorted(plan.settings.by_folder or ()),
        schemas={**record.schemas, **{q: base64.b64encode(s).decode() for q, s in program.schemas.items()}},
        late_schemas={s: base64.b64encode(b).decode() for s, b in program.late_schemas.items()},
        placements={**record.placements, **placements},
        sets=_list_sets(plan),
        graph=draw_plan(plan),
        labels=program.label_nodes(),
    )


def _list_sets(plan: Plan) -> dict[str, dict[str, str]]:
    """By label, what tables over streams are partitioned by; not where tables of one label differ."""
    found: dict[str, list[dict[str, str]]] = {}
    for table in plan.tables.values():
        placed = (
            plan.placements.get(table.members[0])
            if table.id in plan.feeds or table.id in plan.row_feeds
            else None
        )
        found.setdefault(table.label, []).append(dict(placed.sets) if placed is not None else {})
    return {
        label: sets[0] for label, sets in found.items() if sets[0] and all(one == sets[0] for one in sets)
    }


def _can_begin(store: Store, node: Node, born: int | None) -> None:
    """A landmark that has begun cannot be joined later: every one of its windows would lack the rows before. Nor can versions be
    asked for that nobody has kept.
    """
    if born is not None and node.needs_past:
        raise CheckpointError(
            f"checkpoint {store.uri}: a new query asks for versions AS OF a time ({node.label}), but those that were read before "
            "it was there were not kept, so its first answers would be wrong. Use a new checkpoint for it"
        )
    for window in node.windows:
        if born is not None and window.reports_without_rows and window.origin <= born:
            raise CheckpointError(
                f"checkpoint {store.uri}: a new query over {node.label} has a landmark window (RANGE ALL) that begins before "
                "what was already read, so it would never be complete. Give it an ORIGIN after the rows read so far or a "
                "RESET, or use a new checkpoint"
            )


def _difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    parts = [f"stream {n} is gone" for n in old if n not in new]
    parts += [f"stream {n} is new" for n in new if n not in old]
    for name in [n for n in old if n in new]:
        before, now = (dict(map(tuple, s[name]["columns"])) for s in (old, new))
        parts += [f"column {name}.{c} is gone" for c in before if c not in now]
        parts += [f"column {name}.{c} is new" for c in now if c not in before]
        parts += [
            f"column {name}.{c} was {t} and is {now[c]}" for c, t in before.items() if now.get(c, t) != t
        ]
        groups = [", ".join(s[name].get("groups", ())) or "none" for s in (old, new)]
        if groups[0] != groups[1]:
            parts.append(
                f"the groups of {name} that make progress by themselves were by {groups[0]} and are by {groups[1]}"
            )
        clauses = [
            s[name].get("partitioned", new[name]["partitioned"]) or "not PARTITIONED BY anything"
            for s in (old, new)
        ]
        if clauses[0] != clauses[1]:
            parts.append(f"{name} was {clauses[0]} and is {clauses[1]}")
        if old[name]["on"] != new[name]["on"]:
            parts.append(f"{name} was PROGRESSING ON {old[name]['on']} and is on {new[name]['on']}")
    return "; ".join(parts)


def _words(text: str) -> str:
    return " ".join(text.split())


def same_text(one: str, other: str) -> bool:
    """Whether two texts of a query are one but for spaces and comments."""
    return _tokens(one) == _tokens(other)


def _tokens(text: str) -> list[tuple[object, str]]:
    """What counts of a text: not its spaces, not its comments."""
    return [(t.token_type, t.text) for t in Spark().tokenize(text)]
