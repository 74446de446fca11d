"""Headrace against its rivals, on the same files, in one run: `python -m benchmarks --help`.

    data      the streams, as Parquet, and as CSV for Flink
    run       every contender on every workload, each in a process of its own; one JSON file a run
    compare   the ratios, against the targets
    report    docs/benchmarks.md and the summary that is committed

What is measured, and how the rivals are treated fairly, is said where it is done: `measure`, `contenders`.
"""
