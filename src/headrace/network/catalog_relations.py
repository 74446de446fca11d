"""Streams of a network's catalog as relations, so that the SQL front end reads queries over them as it reads any.

A catalog knows less of a stream than `CREATE STREAM` says: types never, columns and the attribute that makes progress not
always. A stream without columns has those that a query speaks of by its name. Its time is the column that the window
names (`[RANGE 5 MINUTES ON ts]`), that `CREATE STREAM … PROGRESSING ON` names, or that the catalog names (`time: ts`); without
one, conditions on its columns are conditions like others. Times are timestamps unless the statement says that they are
integers, or windows are written as numbers: these count seconds, as in Gigascope (document 000, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from headrace.logical.graph import Branch, Graph, Rows
from headrace.network.stream_catalog import BaseStream, Catalog
from headrace.sql import BracketWindow, CreateStream, Within
from headrace.sql.declare import declared_stream
from headrace.sql.error_places import suggest
from headrace.sql.join_names import FromItem
from headrace.sql.names import fold_name
from headrace.sql.scope import Fail, written


class CatalogRelations:
    """What the items of one SELECT read."""

    def __init__(
        self, catalog: Catalog, declared: Iterable[CreateStream], select: exp.Select, fail: Fail
    ) -> None:
        self.catalog, self.select, self.fail = catalog, select, fail
        self.declared = {fold_name(s.name): s for s in declared}
        self.rows: dict[str, Rows] = {}  # by name: the stream's, with #2, #3 … for further uses of it
        self.unit = self._find_unit()

    def graph(self) -> Graph:
        return Graph({}, dict(self.rows), {}, {})

    def make_item(self, node: exp.Expr) -> FromItem:
        """An item of FROM."""
        if not isinstance(node, exp.Table):
            raise self.fail(node, "a sub-select in FROM: across sites, a query reads streams by name")
        if node.args.get("alias") and node.args["alias"].columns:
            raise self.fail(node.args["alias"], "column names behind AS: across sites, columns keep their names")
        stream = self._find_stream(node)
        uses = 1 + sum(name.partition("#")[0] == stream.name for name in self.rows)
        name = stream.name if uses == 1 else f"{stream.name}#{uses}"
        columns = self._find_columns(stream, node.alias_or_name)
        time = self._find_time(stream, node)
        spelled = next((c for c in columns if time is not None and c.lower() == time.lower()), None)
        if time is not None and spelled is None and not self._names_attribute(node):
            columns, spelled = [*columns, time], time
        branch = Branch(stream.name, None, tuple((c, exp.column(c)) for c in columns))
        self.rows[name] = Rows(name, (branch,), spelled, self.unit)
        return FromItem(self.rows[name], node.alias_or_name, node)

    def _find_stream(self, node: exp.Table) -> BaseStream:
        known = {fold_name(s.name): s for s in self.catalog.streams} | {
            s.name: s for s in self.catalog.streams
        }
        found = known.get(node.name) or known.get(fold_name(node.name))
        if node.db or found is None:
            near = suggest(node.name, [s.name for s in self.catalog.streams])
            raise self.fail(
                node,
                f"unknown stream {written(node)!r}.{near} Declare it under `streams` with its node and rate; if it is a query, "
                "write its FROM and WHERE here: across sites a query reads streams only",
            )
        return found

    def _find_columns(self, stream: BaseStream, alias: str) -> list[str]:
        if stream.columns:
            return [c.name for c in stream.columns]
        alone = len(list(self.select.find_all(exp.Table))) == 1
        spoken = [
            c.name
            for c in self.select.find_all(exp.Column)
            if not isinstance(c.this, exp.Star)
            and (fold_name(c.table) == fold_name(alias) or (alone and not c.table))
        ]
        return list({name.lower(): name for name in reversed(spoken)}.values())

    def _find_time(self, stream: BaseStream, node: exp.Table) -> str | None:
        clause = node.args.get("stream_window")
        if isinstance(clause, BracketWindow) and clause.attribute is not None:
            return clause.attribute.rpartition(".")[2]
        statement = self.declared.get(fold_name(stream.name))
        return stream.time if statement is None else statement.on

    def _names_attribute(self, node: exp.Table) -> bool:
        clause = node.args.get("stream_window")
        return isinstance(clause, BracketWindow) and clause.attribute is not None

    def _find_unit(self) -> str:
        """ "us" if times are timestamps, "int" if they are integers."""
        tables = list(self.select.find_all(exp.Table))
        statements = [
            s for t in tables if (s := self.declared.get(fold_name(t.name))) is not None and s.columns
        ]
        for s in statements:
            return declared_stream(s.name, tuple((c.name, c.type) for c in s.columns), s.on, s.progress).unit
        lengths: list[str | None] = []
        for table in tables:
            clause, within = table.args.get("stream_window"), table.args.get("within")
            lengths += [clause.range, clause.slide] if isinstance(clause, BracketWindow) else []
            lengths += [within.before, within.after] if isinstance(within, Within) else []
        return "int" if any(text is not None and text.strip().isdigit() for text in lengths) else "us"
