"""What many small queries cost a slot to write, and a reader to read: python -m benchmarks.outputs [--queries N] [--rows N]

Writes what 1,000 queries with ten rows each give in a batch, as a file for each query and as slots write it, in turn, each
durably, and prints medians of the processor's time. Then eight such batches are merged, and one query is read of all.
The numbers are in docs/evidence/outputs.md.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable

import pyarrow as pa

from headrace.kernels.result_files import ResultWriter
from headrace.program.limits import Limits
from headrace.state import FilePart, KeptFile, OutputFile, Store
from headrace.state.merge_files import merge_files
from headrace.state.result_parquet import read_results

SCHEMA = pa.schema(
    [
        ("window_start", pa.timestamp("us", "UTC")),
        ("window_end", pa.timestamp("us", "UTC")),
        ("srcIP", pa.int32()),
        ("destIP", pa.int32()),
        ("cnt", pa.int64()),
        ("bytes", pa.int64()),
    ]
)
ROUNDS = 7


def write_batch(store: Store, version: int, tables: dict[str, pa.Table], limits: Limits) -> tuple[OutputFile, ...]:
    """What a slot does with the results of a batch, until they are durable."""
    numbers = {query: number for number, query in enumerate(tables)}
    writer = ResultWriter(store, version, dict.fromkeys(tables, SCHEMA.serialize().to_pybytes()), numbers, limits)
    for query, table in tables.items():
        writer.write(query, table)
    files = writer.close()
    store.sync([file.path for file in files])
    return files


def measure(work: Callable[[], object]) -> float:
    """Milliseconds of the processor: others work on the machine too."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1e3


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--queries", type=int, default=1000)
    options.add_argument("--rows", type=int, default=10)
    chosen = options.parse_args()
    columns = [pa.array(range(chosen.rows)).cast(field.type) for field in SCHEMA]
    tables = {f"q{i}": pa.table(columns, schema=SCHEMA) for i in range(chosen.queries)}
    ways = {"a file for each": Limits(own_bytes=0), "shared": Limits()}
    spent: dict[str, list[float]] = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder)
        for version in range(1, ROUNDS + 1):
            for way, limits in ways.items():
                spent[way].append(measure(lambda limits=limits, v=version: write_batch(store, v, tables, limits)))
        for way, times in spent.items():
            files = write_batch(store, 1, tables, ways[way])
            last = FilePart(files[-1], files[-1].parts[-1])
            read = [measure(lambda part=last: read_results(store, part)) for _ in range(ROUNDS)]
            size = sum(file.bytes for file in files)
            print(
                f"{way}: {len(files):,} files, {size:,} bytes, {statistics.median(times):.1f} ms to write durably, "
                f"{statistics.median(read):.2f} ms to read one query"
            )
        batches = [KeptFile(f, v, v, 0.0) for v in range(1, 9) for f in write_batch(store, v, tables, Limits())]
        merged: list[KeptFile] = []
        took = measure(lambda: merged.extend(merge_files(store, batches)))
        part = merged[0].file.find(merged[0].file.parts[chosen.queries // 2].key)
        assert part is not None
        read = [measure(lambda: read_results(store, part)) for _ in range(ROUNDS)]
        print(
            f"8 batches merged: {len(merged)} file, {sum(k.file.bytes for k in merged):,} bytes, {took:.0f} ms, "
            f"{statistics.median(read):.2f} ms to read one query"
        )


if __name__ == "__main__":
    main()
