"""A whole run in a process of its own, to be killed: `recovery_driver.py MASTER CHECKPOINT SLOTS < script`."""

from __future__ import annotations

import sys

import headrace as hr
from headrace.runtime.spark import make_session


def main() -> None:
    master, checkpoint, slots = sys.argv[1:]
    spark = make_session(master, **{"spark.sql.shuffle.partitions": "2"})
    session = hr.Session(spark, checkpoint=checkpoint, slots=int(slots)).sql(sys.stdin.read())
    print("started", flush=True)
    session.start(available_now=True, flush=True).wait()
    print("done", flush=True)


if __name__ == "__main__":
    main()
