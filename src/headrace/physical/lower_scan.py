"""How tasks read a stream's files by themselves, for streams that `optimizer/choose_reader.py` lets them read."""

from __future__ import annotations

from sqlglot import exp

from headrace.dialect.duck import translate
from headrace.dialect.duck_cast import duck_type
from headrace.kernels.scan import Scan
from headrace.logical.graph import Stream
from headrace.optimizer.plan import Plan

_TICKS = {
    "timestamp": 'epoch_us("{}")',
    "timestamp_ntz": 'epoch_us("{}")',
    "date": "TRY_CAST(date_diff('day', DATE '1970-01-01', \"{}\")::HUGEINT * 86400000000 AS BIGINT)",
}


def lower_scan(plan: Plan, stream: Stream, schema: bytes, folder: str = "") -> Scan:
    """The scan of a stream whose files, of Arrow type `schema`, are below `folder` (none: its path names files)."""
    scope = plan.types[stream.name]
    tick = _TICKS.get(scope[stream.on], 'CAST("{}" AS BIGINT)').format(stream.on.replace('"', '""'))
    select, read = [f"{tick} AS _t"], {stream.on}
    for column in plan.columns[stream.name]:
        value = translate(column.expression, scope)
        select.append(f"CAST({value.sql} AS {duck_type(column.type)}) AS {column.name}")
        read |= {c.name for c in column.expression.find_all(exp.Column)}
    options = {k.lower(): v.lower() for k, v in stream.options}
    if options.get("recursivefilelookup") == "true":
        folder = ""  # names of folders then mean nothing
    columns = tuple(c for c in scope if c in read)
    return Scan(stream.name, ", ".join(select), tick, columns, schema, folder)
