"""The programs that are measured, each run in a process of its own with a spec (JSON) as its argument.

A spec says what to read, which queries to run, where to write and with which settings
(`benchmarks.measure.Spec`); the answer is JSON too: seconds, batches, and where the results are. The clock
starts when the engine is up and the queries are registered, and stops when the last result is written. All
engines get two cores.

    on_headrace   Session.start, with its own result log; the flush at the end is timed apart
    on_spark      Structured Streaming, one query each, append mode, Parquet sink, either state store
    on_flink      Flink SQL in its own environment, one job for the whole set, CSV sink, no checkpoints
    on_duckdb     no streaming at all: the same results from all rows at once

"""
