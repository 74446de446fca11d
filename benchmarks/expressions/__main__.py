"""`python -m benchmarks.expressions`."""

from __future__ import annotations

import logging
import random
import time
from collections import Counter

import click

from benchmarks.expressions.aggregates import AggregateComparison, draw_aggregates
from benchmarks.expressions.compare import Comparison, Outcome, type_of
from benchmarks.expressions.draw import Drawer
from benchmarks.expressions.known import find_known
from benchmarks.expressions.templates import read_templates


@click.command()
@click.option("--count", default=20000, show_default=True, help="How many to compare.")
@click.option("--seed", default=1, show_default=True, help="The same seed draws the same expressions.")
@click.option("--depth", default=2, show_default=True, help="How deep expressions stand in each other.")
@click.option("--aggregates", default=1000, show_default=True, help="How many aggregates to draw besides.")
@click.option("--show", default=40, show_default=True, help="How many differences to print.")
def main(count: int, seed: int, depth: int, aggregates: int, show: int) -> None:
    """Compare random expressions on results with Spark's answers."""
    from headrace.runtime.spark import make_session

    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # of examples that it cannot write again
    spark = make_session("local[1]", rows=False, **{"spark.sql.shuffle.partitions": "1"})
    started = time.time()
    scalar, grouping, names = read_templates(spark)
    drawer = Drawer(random.Random(seed), scalar, type_of)
    comparison = Comparison(spark)
    print(
        f"{len(names)} functions, {len(scalar)} examples of {len({x.function for x in scalar})}; "
        f"translated: {len(drawer.by_function)} functions"
    )
    found = AggregateComparison(spark).compare(draw_aggregates(random.Random(seed), grouping, aggregates))
    report(found, show)
    while (done := sum(o.verdict in ("equal", "different") for o in found)) < count:
        print(f"{done} compared after {time.time() - started:.0f} s", flush=True)
        more = comparison.compare([drawer.draw(depth) for _ in range(300)])
        if not any(o.verdict in ("equal", "different") for o in more):
            raise click.ClickException("nothing of 300 could be compared: has Spark ended?")
        found += more
    report(found, show)
    print(f"{time.time() - started:.0f} s")
    spark.stop()


def report(found: list[Outcome], show: int) -> None:
    verdicts = Counter(o.verdict for o in found)
    compared = verdicts["equal"] + verdicts["different"]
    different = [o for o in found if o.verdict == "different"]
    unknown = [o for o in different if find_known(o) is None]
    print(
        f"drawn {len(found)}, compared {compared}, equal {verdicts['equal']}, refused {verdicts['refused']}, "
        f"invalid to Spark {verdicts['invalid']}, different {len(different)}, "
        f"of these on the list {len(different) - len(unknown)}"
    )
    reasons = Counter(find_known(o) for o in different if find_known(o) is not None)
    for reason, number in reasons.most_common():
        print(f"  {number} times: {reason}")
    by_function = Counter(o.function for o in unknown)
    print("different by function:", ", ".join(f"{f} {n}" for f, n in by_function.most_common()))
    for outcome in sorted(unknown, key=lambda o: (-by_function[o.function], o.function, len(o.text)))[:show]:
        print(f"  [{outcome.function}] {outcome.text}\n      {outcome.why}")


if __name__ == "__main__":
    main()
