"""Kinds of relations say what they are: no room asks for one of them, but the list that makes it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from headrace.logical import graph
from headrace.logical.keyed_join import KeyedJoin
from headrace.logical.relation import Relation
from headrace.logical.rows import Rows
from headrace.logical.temporal_join import TemporalJoin
from headrace.physical.relation_kinds import RELATIONS
from headrace.sql.looked_up_items import LOOKED_UP

SOURCE = Path(inspect.getfile(Relation)).parents[1]
TEMPORAL = {
    "logical/temporal_join.py",
    "sql/bind_temporal.py",
    "sql/looked_up_items.py",
    "sql/known_clauses.py",
    "physical/lower_temporal.py",
    "physical/relation_kinds.py",
    "program/version_joins.py",
    "kernels/find_versions.py",
    "kernels/slot_kinds.py",
}


def list_kinds(kind: type[Relation]) -> set[type[Relation]]:
    """A kind and those below it."""
    return {kind}.union(*(list_kinds(below) for below in kind.__subclasses__()))


def test_every_kind_is_lowered() -> None:
    """All kinds are in the list of physical/ but rows over streams, which the source stage makes."""
    assert set(RELATIONS) == list_kinds(Relation) - {Relation, KeyedJoin, Rows}


def test_every_kind_says_what_a_relation_must_say() -> None:
    """What has no answer that is right for most kinds is answered by each."""
    for kind in RELATIONS:
        for method in ("reads", "find_progress", "type_columns"):
            assert getattr(kind, method) is not getattr(Relation, method), f"{kind.__name__}.{method}"


def test_a_temporal_join_is_nine_files() -> None:
    """FOR SYSTEM_TIME AS OF can be taken out, and a kind like it put in, without touching others."""
    words = r"TemporalJoin|VersionNode|FindVersions|temporal_join|bind_temporal|lower_temporal|version_joins|find_versions"
    named = {str(p.relative_to(SOURCE)) for p in SOURCE.rglob("*.py") if re.search(words, p.read_text(encoding="utf-8"))}
    assert named - {"sql/known_clauses.py"} == TEMPORAL - {"sql/known_clauses.py"}
    clause = re.compile(r"\.get\(\"version\"\)|\.args\[\"version\"\]|\"version\",|\"version\"\)|exp\.Version")
    read = {str(p.relative_to(SOURCE)) for p in (SOURCE / "sql").rglob("*.py") if clause.search(p.read_text(encoding="utf-8"))}
    assert read <= TEMPORAL
    assert not hasattr(graph, TemporalJoin.__name__)
    assert len(LOOKED_UP) == 2
