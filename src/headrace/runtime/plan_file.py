"""plan.json: which query set a checkpoint belongs to, and what may change about it.

A checkpoint outlives the text it was started with. Queries may be added (they answer from the first window that begins after
they were added, so that every answer they give is complete) and removed. What would make committed results wrong or unreadable
is refused, and the message says what differs: another stream, another set altogether, another text under the same name.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import duckdb

from headrace.errors import CheckpointError
from headrace.kernels.spec import Program
from headrace.logical.plan import Graph
from headrace.state import Manifest, Store

PATH = "plan.json"
FORMAT = 1


@dataclass
class PlanFile:
    streams: dict[str, dict[str, Any]] = field(default_factory=dict)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)  # name -> text, generation, retired
    born: dict[str, int | None] = field(default_factory=dict)  # node -> its windows start after this tick
    hash: str = ""
    graph: dict[str, Any] = field(default_factory=dict)  # the drawing, for reports
    schemas: dict[str, str] = field(default_factory=dict)
    late_schemas: dict[str, str] = field(default_factory=dict)

    @property
    def generations(self) -> dict[str, int]:
        return {n: q["generation"] for n, q in self.queries.items()}

    @property
    def retired(self) -> frozenset[str]:
        return frozenset(n for n, q in self.queries.items() if q["retired"])

    def save(self, store: Store) -> None:
        store.write(PATH, json.dumps({"format": FORMAT, **vars(self)}, indent=1).encode())


def load(store: Store) -> PlanFile | None:
    """The plan of a checkpoint, None if it has none yet."""
    if not store.exists(PATH):
        if store.list("manifests"):
            raise CheckpointError(f"checkpoint {store.uri}: plan.json is missing; restore it, or use a new checkpoint")
        return None
    try:
        data = json.loads(store.read(PATH))
        if data.pop("format") != FORMAT:
            raise ValueError("another format")
        return PlanFile(**data)
    except (ValueError, TypeError, KeyError) as e:
        raise CheckpointError(
            f"checkpoint {store.uri}: plan.json cannot be read ({e}); restore it, or use a new checkpoint"
        ) from e


def described(graph: Graph) -> dict[str, dict[str, Any]]:
    """What must stay the same of each stream."""
    return {
        s.name: {"columns": [list(c) for c in s.columns], "on": s.on, "unit": s.unit} for s in graph.streams.values()
    }


def reconcile(store: Store, old: PlanFile | None, graph: Graph) -> PlanFile:
    """The plan file for a graph on a checkpoint that may hold an earlier one; refuses what cannot be continued."""
    where = f"checkpoint {store.uri}"
    probe = hash_probe()
    streams = described(graph)
    if old is None:
        queries = {n: {"text": t, "generation": 0, "retired": False} for n, t in graph.queries.items()}
        return PlanFile(streams, queries, hash=probe)
    live = {n for n, q in old.queries.items() if not q["retired"]}
    if streams != old.streams:
        raise CheckpointError(f"{where} belongs to other streams: {_difference(old.streams, streams)}")
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
    queries = {n: dict(q) for n, q in old.queries.items()}
    newest = max((q["generation"] for q in queries.values()), default=0)
    for name, text in graph.queries.items():
        known = queries.get(name)
        if known is None:
            queries[name] = {"text": text, "generation": newest + 1, "retired": False}
        elif known["retired"]:
            raise CheckpointError(
                f"{where}: query {name} was removed from this checkpoint before; add it under another name"
            )
        elif _words(known["text"]) != _words(text):
            raise CheckpointError(
                f"{where}: query {name} has changed.\n  before: {_words(known['text'])}\n  now:    {_words(text)}\n"
                "Its committed results answer the old text: give the new one another name, or use a new checkpoint"
            )
    for name in live - set(graph.queries):
        queries[name]["retired"] = True
    return PlanFile(streams, queries, dict(old.born), probe)


def settle(plan: PlanFile, program: Program, manifest: Manifest | None) -> None:
    """Write the program's nodes and schemas into the plan: new nodes are born now."""
    born: dict[str, int | None] = {}
    for node in program.nodes:
        if node.name in plan.born:
            born[node.name] = plan.born[node.name]
        else:
            seen = [manifest.streams[s].max_seen for s in node.streams] if manifest is not None else []
            born[node.name] = max((s for s in seen if s is not None), default=None)
    plan.born = born
    plan.schemas |= {q: base64.b64encode(s).decode() for q, s in program.schemas.items()}
    plan.late_schemas = {s: base64.b64encode(b).decode() for s, b in program.late_schemas.items()}


def hash_probe() -> str:
    """DuckDB's hash of fixed values: mini-partitions depend on it, so it must not change under a checkpoint."""
    rows = duckdb.connect().sql("SELECT hash(1::INT), hash('a'), hash(1::BIGINT, 'b'), hash(NULL::DATE)").fetchall()
    return "-".join(str(v) for v in rows[0])


def _difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    parts = [f"stream {n} is gone" for n in old if n not in new]
    parts += [f"stream {n} is new" for n in new if n not in old]
    for name in set(old) & set(new):
        for key in ("columns", "on", "unit"):
            if old[name][key] != new[name][key]:
                parts.append(f"{key} of {name} was {old[name][key]} and is {new[name][key]}")
    return "; ".join(parts) + ". Use a new checkpoint" if parts else "the order of the streams has changed"


def _words(text: str) -> str:
    return " ".join(text.split())
