"""The joins that document 003 writes down, run: Q5-7, Q5-8, Q7-1, Q7-2, Q8-3 and Q8-4, against their meaning written out in Python.

The text is the thesis', but for this: columns of one name from two inputs get another with AS; a comma before WHERE is left
out; `A UNION B as M1` is a sub-select; Q7-2 and Q8-3 have a misprint (`M1.destIP and M2.srcIP` for `=`); Q7-2's n is 5 seconds.
Q7-1 is there in words only: SYN and SYN-ACK packets at most two minutes apart, counted for each pair of timestamps.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import product

from headrace.testing import LocalRun

SECOND = 1_000_000
MINUTE = 60 * SECOND
COLUMNS = "(ts TIMESTAMP, srcIP INT, destIP INT, srcPort INT, destPort INT)"

Packet = tuple[int, int, int, int, int]
Near = Callable[[int, int], bool]


def run(query: str, streams: dict[str, list[Packet]], seed: int, slack: int) -> LocalRun:
    """The query over streams whose rows come disordered by up to `slack` seconds, each at its own pace, then to the end."""
    rng = random.Random(seed)
    create = "".join(
        f"CREATE STREAM {name} {COLUMNS} PROGRESSING ON ts SLACK {slack} SECONDS FROM 'memory';\n"
        for name in streams
    )
    out = LocalRun(f"{create}CREATE QUERY q AS {query};")
    arriving = {
        n: sorted(rows, key=lambda p: p[0] + rng.uniform(0, slack * SECOND)) for n, rows in streams.items()
    }
    while any(arriving.values()):
        batch = {}
        for name, rows in arriving.items():
            count = rng.choice([0, 5, 40])
            batch[name], arriving[name] = rows[:count], rows[count:]
        out.push(**{n: rows for n, rows in batch.items() if rows})
    out.flush()
    assert all(s.late == 0 for s in out.manifest.streams.values())
    return out


def packets(seed: int, count: int, length: int, edges: int) -> list[Packet]:
    """Packets of few hosts and ports over `length`; half of them exactly on multiples of `edges`."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        ts = rng.randrange(length)
        ts = ts if rng.random() < 0.5 else ts // edges * edges
        out.append((ts, *(rng.randint(1, 2) for _ in range(4))))
    return out


def opposite(one: Packet, other: Packet) -> bool:
    """The same NetFlow, in opposite directions."""
    return (one[1], one[2], one[3], one[4]) == (other[2], other[1], other[4], other[3])


def test_q5_7() -> None:
    """Tumbling-window join: ⌊Main1.ts/5⌋ = ⌊Main2.ts/5⌋, in minutes; the clause behind the last input is for both."""
    query = """
      SELECT Main1.srcIP, Main1.destIP, Main2.srcIP AS srcIP2, Main2.destIP AS destIP2, Main2.ts FROM Main1, Main2
      [RANGE TUMBLING 5 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP
    """
    one, two = packets(1, 120, 20 * MINUTE, 5 * MINUTE), packets(2, 120, 20 * MINUTE, 5 * MINUTE)
    found = run(query, {"Main1": one, "Main2": two}, 3, 40).rows("q")
    expected = [
        (a[1], a[2], b[1], b[2], b[0])
        for a, b in product(one, two)
        if a[1] == b[2] and a[0] // (5 * MINUTE) == b[0] // (5 * MINUTE)
    ]
    assert found == sorted(expected)


Q5_8 = """
  SELECT Main1.srcIP, Main1.destIP, Main2.srcIP AS srcIP2, Main2.destIP AS destIP2, Main2.ts
  FROM Main1 [RANGE 3 minutes, WA ts], Main2 [RANGE 2 minutes, WA ts] WHERE Main1.srcIP = Main2.destIP
"""


def test_q5_8() -> None:
    """Sliding-window join: r.ts >= l.ts - 2 min and l.ts > r.ts - 3 min, as the text around it says."""
    one, two = packets(4, 120, 20 * MINUTE, MINUTE), packets(5, 120, 20 * MINUTE, MINUTE)
    found = run(Q5_8, {"Main1": one, "Main2": two}, 6, 40).rows("q")
    expected = [
        (a[1], a[2], b[1], b[2], b[0])
        for a, b in product(one, two)
        if a[1] == b[2] and b[0] >= a[0] - 2 * MINUTE and a[0] > b[0] - 3 * MINUTE
    ]
    assert found == sorted(expected)
    exact = {
        (b[0] - a[0]) // MINUTE for a, b in product(one, two) if (b[0] - a[0]) % MINUTE == 0 and a[1] == b[2]
    }
    assert {-3, -2, 2, 3} <= exact  # rows on both edges, and beyond


def test_q5_8_with_one_input_five_minutes_behind() -> None:
    """Section 5.2's example: Main1 comes five minutes later than Main2; 10:03:00 must not meet 10:10:59, but its own minutes."""
    ten = 10 * 60 * MINUTE
    out = LocalRun(
        "".join(
            f"CREATE STREAM {n} {COLUMNS} PROGRESSING ON ts ORDERED FROM 'memory';"
            for n in ("Main1", "Main2")
        )
        + f"CREATE QUERY q AS {Q5_8};"
    )
    out.push(Main2=[(ten + m * MINUTE, 7, 1, 0, 0) for m in range(10)])
    out.push(Main2=[(ten + 11 * MINUTE - SECOND, 7, 1, 0, 0)], Main1=[(ten + 3 * MINUTE, 1, 9, 0, 0)])
    assert [(row[-1] - ten) // MINUTE for row in out.rows("q")] == [1, 2, 3, 4, 5]


def test_thesis_columns_of_one_name_are_told_apart() -> None:
    """Q5-8 to the letter shows two columns called srcIP: each is named by its input too."""
    out = run(Q5_8.replace(" AS srcIP2", ""), {"Main1": [], "Main2": []}, 0, 1)
    assert [c for c in out.graph.relations["q"].columns if "srcIP" in c] == ["Main1_srcIP", "Main2_srcIP"]


def test_q7_1() -> None:
    """A count for each pair of minutes of a SYN and its SYN-ACK, over a band of two minutes."""
    query = f"""
      SELECT x.start AS m1, y.start AS m2, count(*) AS n FROM M1 JOIN M2 WITHIN 2 MINUTES ON {NETFLOW.format("M2")}
      GROUP BY window(M1.ts, '1 minute') AS x, window(M2.ts, '1 minute') AS y
    """
    one, two = packets(15, 120, 8 * MINUTE, MINUTE), packets(16, 120, 8 * MINUTE, MINUTE)
    found = run(query, {"M1": one, "M2": two}, 17, 20).rows("q")
    pairs = Counter(
        (a[0] // MINUTE * MINUTE, b[0] // MINUTE * MINUTE)
        for a, b in product(one, two)
        if opposite(a, b) and abs(a[0] - b[0]) <= 2 * MINUTE
    )
    assert found == sorted((*minutes, n) for minutes, n in pairs.items())
    assert len(found) > 20


def test_q7_2() -> None:
    """A count per minute of M1.ts over a sliding-window join; minutes without pairs have no result."""
    query = """
      SELECT count(*) [RANGE 1 minute, SLIDE 1 minute, WA M1.ts] FROM M1 [RANGE 5 seconds, WA ts], M2 [RANGE 5 seconds, WA ts]
      WHERE M1.srcIP = M2.destIP and M1.destIP = M2.srcIP and M1.srcPort = M2.destPort and M1.destPort = M2.srcPort
    """
    one, two = packets(7, 250, 6 * MINUTE, SECOND), packets(8, 250, 6 * MINUTE, SECOND)
    found = run(query, {"M1": one, "M2": two}, 9, 20).rows("q")
    pairs = Counter(
        a[0] // MINUTE
        for a, b in product(one, two)
        if opposite(a, b) and a[0] - 5 * SECOND <= b[0] < a[0] + 5 * SECOND
    )
    assert found == sorted((n, minute * MINUTE, (minute + 1) * MINUTE) for minute, n in pairs.items())
    assert len(found) > 3


NETFLOW = """
  M1.srcIP = {0}.destIP and M1.destIP = {0}.srcIP and M1.srcPort = {0}.destPort and M1.destPort = {0}.srcPort
"""


def test_q8_3() -> None:
    """Unions on both sides, joined in windows of ten seconds."""
    query = f"""
      SELECT M1.srcIP, M1.destIP, M1.ts
      FROM (SELECT * FROM A UNION ALL SELECT * FROM B) as M1, (SELECT * FROM C UNION ALL SELECT * FROM D) as M2
           [RANGE TUMBLING 10 seconds, WA ts]
      WHERE {NETFLOW.format("M2")}
    """
    a, b, c, d = (packets(seed, 80, 2 * MINUTE, 10 * SECOND) for seed in (10, 11, 12, 13))
    found = run(query, {"A": a, "B": b, "C": c, "D": d}, 14, 20).rows("q")
    expected = [
        (x[1], x[2], x[0])
        for x, y in product(a + b, c + d)
        if opposite(x, y) and x[0] // (10 * SECOND) == y[0] // (10 * SECOND)
    ]
    assert found == sorted(expected)
    assert len(found) > 20


def test_q8_4() -> None:
    """A stream joined with a union of which one input is late: what is kept waits for it, and is gone when it has come."""
    query = f"""
      SELECT M1.srcIP, M1.destIP, M1.ts
      FROM M1, (SELECT * FROM M2 UNION ALL SELECT * FROM C) as M3
           [RANGE TUMBLING 1 minute, WA ts]
      WHERE {NETFLOW.format("M3")}
    """
    one, two, late = (packets(seed, n, 8 * MINUTE, MINUTE) for seed, n in ((15, 120), (16, 120), (17, 9)))
    out = run(query, {"M1": one, "M2": two, "C": late}, 18, 10)
    expected = [
        (x[1], x[2], x[0])
        for x, y in product(one, two + late)
        if opposite(x, y) and x[0] // MINUTE == y[0] // MINUTE
    ]
    assert out.rows("q") == sorted(expected)
    later = [(60 * MINUTE, 0, 0, 0, 0)]
    out.push(M1=later, M2=later)
    kept = sum(segment.live_rows for segment in out.manifest.segments)
    out.push(C=later)
    assert kept > sum(segment.live_rows for segment in out.manifest.segments) == 3
