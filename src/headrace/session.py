"""The front door: register streams and queries, explain them, start them.

    import headrace as hr

    session = hr.Session(checkpoint="checkpoint")
    session.sql(text)
    run = session.start(available_now=True)
    run.wait()
    run.results("flows").arrow()

Registering binds and checks; nothing runs, and Spark is not started, before it is needed.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.arguments import checked
from headrace.coordinator.run_options import BALANCE, RunOptions, Trigger
from headrace.errors import CheckpointError, OptionError, SourceError, SqlError
from headrace.logical.graph import Graph, StaticTable
from headrace.logical.source_formats import TABLES_ONLY
from headrace.logical.user_aggregate import UserAggregate
from headrace.optimizer import check_graph
from headrace.optimizer.choose_reader import may_read_in_tasks
from headrace.optimizer.costly_windows import find_costly_windows
from headrace.physical.declare_aggregate import make_aggregate
from headrace.physical.duck_typer import check_types
from headrace.program.limits import SHIPPED, Limits
from headrace.report.model import BatchReport
from headrace.report.shown_text import PlanPage, PlanText
from headrace.sql import CreateStream, CreateTable, parse_query, parse_script
from headrace.sql.bind import Binder
from headrace.sql.check_functions import SAFE_ONLY, OpenFunctions
from headrace.sql.copy_binder import copy_binder
from headrace.sql.declare import asks_spark, declared_stream, declared_table
from headrace.sql.declare_progress import slack
from headrace.sql.statements import ColumnDef
from headrace.state import ManifestLog, Store
from headrace.windows.duration import parse_defer, parse_retention, parse_trigger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from headrace.runtime.loop import Run


class Session:
    """A set of streams and queries, planned and run together."""

    @checked
    def __init__(
        self,
        spark: SparkSession | None = None,
        checkpoint: str | Path | None = None,
        slots: int | str | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        balance: str | None = None,
        partition_by: str | None = None,
        rates_from: str | Path | None = None,
        defer: str | None = None,
        share: str | None = None,
        allow_functions: str | Sequence[str] = (),
        limits: Limits = SHIPPED,
    ) -> None:
        """`rates_from`: a checkpoint whose last batches measured what the tables of a new one are placed by.
        `allow_functions`: functions that texts may call although they reach the machine, its files or the session, or are an
        extension's of Spark, like 'java_method, input_file_name'. `limits` are the sizes at which a run takes another way to the
        same answer; tests make them small.
        """
        wait = parse_defer(defer) if defer is not None else None
        rates = None if rates_from is None else str(rates_from)
        self._options = RunOptions(slots, balance or BALANCE, partition_by, rates, wait, share, limits=limits)
        self._spark, self._master, self._conf = spark, master, dict(conf or {})
        self._checkpoint = None if checkpoint is None else str(checkpoint)
        self._user: dict[str, UserAggregate] = {}
        names = allow_functions.split(",") if isinstance(allow_functions, str) else allow_functions
        self._binder = Binder((), OpenFunctions.of(names, self._is_registered))
        self._frames: dict[str, DataFrame] = {}
        self._bounds: dict[str, Callable[[], Any]] = {}
        self._tables: dict[str, DataFrame | Callable[[], DataFrame]] = {}
        self._bases: dict[str, Path] = {}
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started at first use unless one was given."""
        if self._spark is None:
            from headrace.runtime.spark import make_session
            from headrace.runtime.warm import warm_up

            self._spark = make_session(self._master, rows=not may_read_in_tasks(self.graph), **self._conf)
            warm_up(self._spark)
        return self._spark

    @property
    def graph(self) -> Graph:
        return self._binder.graph()

    def __repr__(self) -> str:
        """What is registered; Spark is not started for it."""
        graph = self.graph
        kinds = {"streams": list(graph.streams), "tables": list(graph.tables), "queries": list(graph.queries)}
        listed = [f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names] or ["nothing registered"]
        where = [f"checkpoint {self._checkpoint}"] if self._checkpoint is not None else []
        return f"<headrace.Session: {'; '.join(listed + where)}>"

    def _is_registered(self, name: str) -> bool:
        """Whether the program has registered a function of this name with the session's Spark."""
        from headrace.runtime.spark_registry import is_registered

        return self._spark is not None and is_registered(self._spark, name)

    # -- registering --------------------
    @checked
    def sql(self, text: str, base: str | Path | None = None) -> Session:
        """Register the CREATE STREAM, CREATE TABLE and CREATE QUERY statements of a script; paths are relative to `base`."""
        binder = copy_binder(self._binder)
        bases = dict(self._bases)
        for statement in parse_script(text):
            if isinstance(statement, CreateStream) and asks_spark(statement):
                self.check_installed(statement.name, statement.format)
                statement = self._ask_columns(statement, base)
            if isinstance(statement, CreateTable) and not statement.columns:
                statement = self._ask_table_columns(statement, base)
            binder.create(statement)
            if isinstance(statement, (CreateStream, CreateTable)):
                bases[statement.name] = Path(base) if base is not None else Path.cwd()
        check_graph(binder.graph())
        self._binder, self._bases = binder, bases  # all of a script, or nothing
        return self

    def _ask_columns(self, statement: CreateStream, base: str | Path | None) -> CreateStream:
        from headrace.runtime.open_source import ask_columns

        folder = Path(base) if base is not None else None
        found = ask_columns(self.spark, statement.name, statement.format, statement.options, folder)
        return replace(statement, columns=tuple(ColumnDef(*c) for c in found))

    def _ask_table_columns(self, statement: CreateTable, base: str | Path | None) -> CreateTable:
        from headrace.runtime.read_static import ask_table_columns

        unknown = StaticTable(statement.name, (), statement.format, tuple(statement.options.items()))
        found = ask_table_columns(self.spark, unknown, Path(base) if base is not None else None)
        return replace(statement, columns=tuple(ColumnDef(*c) for c in found))

    def check(self, to_run: bool = True) -> None:
        """Refuse what can be refused before Spark starts: types that do not fit; `to_run`, sources that are not there, or that
        Spark will not have (else they are warned of), and values of options that are not there; a checkpoint that is a
        file, or others' rates that cannot be had. Warn of windows that will cost much, and of passwords in plain text.
        """
        from headrace.coordinator.measured_rates import find_rates
        from headrace.sources.source_path import check_sources, check_values, list_written_secrets

        check_sources(self.graph, self._bases, to_run)
        check_types(self.graph, self._user)
        if to_run:  # a plan needs no passwords
            check_values(self.graph, self._bases)
        for stream in self.graph.streams.values():
            try:
                if stream.format is not None:
                    self.check_installed(stream.name, stream.format)
            except SourceError as error:
                if to_run:
                    raise
                warnings.warn(str(error), RuntimeWarning, stacklevel=2)
        for sentence in (*find_costly_windows(self.graph), *list_written_secrets(self.graph)):
            warnings.warn(sentence, RuntimeWarning, stacklevel=2)
        store = self._open_store()
        if store is not None and store.is_local and os.path.exists(store.uri) and not os.path.isdir(store.uri):
            raise CheckpointError(f"checkpoint {store.uri} is a file; expected a directory, or a path where none is yet")
        if to_run and self._options.rates_from is not None:
            find_rates(store, self.graph, self._options.rates_from)

    def check_installed(self, name: str, format: str) -> None:
        """Refuse a source that the Spark which is to be started will surely not have."""
        from headrace.sources.installed_sources import is_surely_missing
        from headrace.sources.source_advice import advise_source

        if format.lower() in TABLES_ONLY or (self._spark is None and is_surely_missing(format, self._conf)):
            raise SourceError(f"stream {name}: {advise_source(format)}")

    @checked
    def stream(self, name: str, frame: DataFrame, progress: slack) -> Session:
        """Register a Spark streaming DataFrame as a stream."""
        if not frame.isStreaming:
            raise SourceError(
                f"stream {name}: expected a streaming DataFrame (spark.readStream…), got a batch one"
            )
        columns = tuple((f.name, f.dataType.simpleString()) for f in frame.schema)
        clause, function = progress.clause, getattr(progress, "function", None)
        if function is not None:
            clause = replace(clause, beside=f"{name}()")  # no table is called that
        self._binder.add_stream(declared_stream(name, columns, progress.on, clause))
        if function is not None:
            self._bounds[f"{name}()"] = function
        self._frames[name] = frame
        if self._spark is None:
            self._spark = frame.sparkSession
        return self

    @checked
    def table(
        self, name: str, source: DataFrame | Callable[[], DataFrame], refresh: str | None = None
    ) -> Session:
        """Register a table to join streams with: a batch DataFrame, or a function that makes one. With `refresh`, like '1 hour',
        it is read again when so much time has passed; a function is then called again, and sees new files.
        """
        frame = source() if callable(source) else source
        if not hasattr(frame, "isStreaming"):
            raise OptionError(f"table {name}: its function gave {frame!r:.80}; expected a batch DataFrame (spark.read…)")
        if frame.isStreaming:
            raise SourceError(f"table {name}: expected a batch DataFrame (spark.read…), got a streaming one; see Session.stream")
        columns = tuple(ColumnDef(f.name, f.dataType.simpleString()) for f in frame.schema)
        declared = declared_table(CreateTable(name, columns, "", {}, refresh))
        self._binder.add_table(replace(declared, format=None))
        self._tables[name] = source
        if self._spark is None:
            self._spark = frame.sparkSession
        return self

    @checked
    def query(self, name: str, text: str) -> Session:
        """Register one query by its SELECT."""
        binder = copy_binder(self._binder)
        binder.create_query(parse_query(name, text))
        check_graph(binder.graph())
        self._binder = binder
        return self

    @checked
    def aggregate(
        self,
        name: str,
        sub: Callable[[list[Any]], Any],
        super: Callable[[list[Any]], Any],
        final: Callable[[Any], Any] | None = None,
        argument: str = "DOUBLE",
        state: str = "DOUBLE",
        returns: str | None = None,
    ) -> Session:
        """Register an aggregate written in Python; see `UserAggregate`. Types are Spark's, like DOUBLE or
        ARRAY<INT>.
        """
        made = make_aggregate(name, sub, super, final, argument, state, returns)
        Binder([made.name])  # refuses the name of a built-in aggregate
        self._user[made.name] = made
        self._binder.user_defined = list(self._user)
        return self

    @checked
    def bounds(self, name: str, function: Callable[[], Any]) -> Session:
        """Register a function for PUNCTUATED FROM 'name': it returns a bound, or a list of (bound, group…), or None, and is
        called on the driver between batches.
        """
        if not callable(function):
            raise OptionError(f"bounds {name}: expected a function, got {function!r}")
        self._bounds[name] = function
        return self

    # -- explaining and running --------------------
    @checked
    def explain(self, format: str = "text", verbose: bool = False) -> str:
        """The plan of the whole set: what is read, what is shared, how it is partitioned, what bounds its state;
        `verbose` adds what was weighed to partition the streams, and the SQL of every step. `format` is text, json, dot, or
        html, a page that a notebook shows.
        """
        from headrace.coordinator.explain_set import explain_set

        by, rates = self._options.partition_by, self._options.rates_from
        text = explain_set(self.graph, self._user, self._bases, self._open_store(), by, rates, format, verbose)
        return PlanPage(text) if format == "html" else PlanText(text)

    def _open_store(self) -> Store | None:
        return Store.open(self._checkpoint) if self._checkpoint is not None else None

    @checked
    def advise(self, by: str | None = None) -> str:
        """Which partitioning to ask of the sources, a topic's key or the hardware, and what each query would pay under it;
        also under one of your own, like 'srcIP, destIP' or, with several streams, 'tcp: srcIP; udp: address'. With a
        checkpoint, or `rates_from` one, by what its last batches measured.
        """
        from headrace.coordinator.explain_set import advise_set

        return PlanText(advise_set(self.graph, self._open_store(), by, self._options.rates_from))

    @checked
    def start(
        self,
        available_now: bool = False,
        trigger: str | None = None,
        flush: bool = False,
        sinks: Sequence[Any] = (),
        on_batch: Callable[[BatchReport], object] | None = None,
        retain: str | None = None,
    ) -> Run:
        """Start the set on Spark.

        `available_now` ends when what is there is read; `trigger` is an interval like '5 seconds'; `flush`
        closes all open windows at the end; `sinks` are fed with committed results, and called again when they raise;
        `on_batch` is called once with the report of each batch that was committed, never again: if it raises, the run
        ends. What must not miss a batch is a sink. `retain`, like '7 days', is how long results and late rows are kept.
        """
        from headrace.runtime.start import RegisteredSet, start

        self.check()
        interval = parse_trigger(trigger) if trigger is not None else 0
        if not self._binder.queries:
            raise SqlError("there is no query to run: register one with CREATE QUERY or Session.query")
        if self._checkpoint is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="headrace-")
            self._checkpoint = self._temporary.name
        options = replace(
            self._options,
            trigger=Trigger(available_now, interval, flush),
            retain=parse_retention(retain) if retain is not None else None,
        )
        opened = self._binder.opened or SAFE_ONLY
        queries = RegisteredSet(
            self.graph, self._user, self._frames, self._bases, self._bounds, self._tables, opened
        )
        return start(self.spark, queries, Store.open(self._checkpoint), options, sinks, on_batch)

    @checked
    def results(self, name: str) -> Any:
        """Committed results of a query of this session's checkpoint, with or without a run."""
        from headrace.coordinator.committed_results import Results, schema_of
        from headrace.coordinator.epoch_record import read_record
        from headrace.runtime.result_frame import read_by

        if self._checkpoint is None:
            raise CheckpointError("this session has no checkpoint and has not been started")
        store = Store.open(self._checkpoint)
        epoch = read_record(store)
        if epoch is None or name not in epoch.schemas:
            raise OptionError(f"checkpoint {store.uri} has no query {name!r}")
        log = ManifestLog(store)
        return Results(log, lambda: log.results(name), schema_of(epoch.schemas[name]), read_by(lambda: self.spark), name)


__all__ = ["Session"]
