"""A whole run in a process of its own, to be killed: `recovery_driver.py MASTER CHECKPOINT SLOTS < script`."""

from __future__ import annotations

import sys

import headrace as hr
from headrace.errors import HeadraceError
from headrace.runtime.spark import make_session


def main() -> None:
    master, checkpoint, slots = sys.argv[1:]
    spark = make_session(master, rows=False, **{"spark.sql.shuffle.partitions": "2"})
    session = hr.Session(spark, checkpoint=checkpoint, slots=int(slots)).sql(sys.stdin.read())
    print("started", flush=True)
    try:
        session.start(available_now=True, flush=True).wait()
    except HeadraceError as error:
        sys.exit(print(f"{type(error).__name__}: {error}", flush=True) or 2)
    print("done", flush=True)


if __name__ == "__main__":
    main()
