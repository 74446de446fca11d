"""The two workloads of the document's evaluation (004, section 4.1.1), seeded.

Synthetic: stream rates, selectivities and places uniform, queries of 2 to 5 joins (a random tree of
predicates over random streams), sinks anywhere. The document gives no ranges; ours are the arguments'
defaults.

Enterprise: the five airline sources of Fig. 5 with their rates, and their "selectivities" read as what one
flight or one destination contributes: 240 check-ins a minute at 2 per flight are 120 flights checking in, and
so on, which gives the distinct counts joins and filters are priced with. Records are 100 bytes; how they
divide into columns is ours. 80 % gate-agent queries (one flight each), 15 % terminal queries, 5 % monitoring
queries over any connected combination, with windows and slide of 1 to 5 minutes.
"""

from __future__ import annotations

import random
from itertools import combinations

from headrace.network.filter_text import value_condition
from headrace.network.join_query import JoinQuery, parse_predicate
from headrace.network.join_view import ViewInput
from headrace.network.stream_catalog import BaseStream, Catalog, ColumnStatistics, Selectivity
from headrace.network.stream_filters import StreamFilter, conjoin_conditions
from headrace.network.topology import COST_MODELS, USAGE, CostModel, Network
from headrace.network.world import World

RATES = (10.0, 100.0)
SELECTIVITIES = (0.001, 0.02)
TERMINALS, CARRIER_SHARE = 6, 0.5


def synthetic(
    network: Network,
    seed: int = 0,
    queries: int = 100,
    streams: int = 10,
    joins: tuple[int, int] = (2, 5),
    rates: tuple[float, float] = RATES,
    selectivities: tuple[float, float] = SELECTIVITIES,
    costs: CostModel = COST_MODELS["tuples"],
    common_key: bool = False,
) -> tuple[World, list[JoinQuery]]:
    """Uniform streams and random queries on a network; every tuple, joined or not, counts the same.

    With a `common_key` all streams join on one column, so that any streams of a query can meet first.
    """
    rng = random.Random(seed)
    names = [f"S{i}" for i in range(streams)]
    placed = tuple(BaseStream(n, rng.choice(network.names), rng.uniform(*rates)) for n in names)
    key = {(a, b): "key" if common_key else b for a in names for b in names}
    edges = tuple(
        Selectivity(f"{a}.{key[a, b]}", f"{b}.{key[b, a]}", rng.uniform(*selectivities))
        for a, b in combinations(names, 2)
    )
    asked = []
    for number in range(queries):
        chosen = rng.sample(names, rng.randint(*joins) + 1)
        pairs = [(chosen[rng.randrange(i)], chosen[i]) for i in range(1, len(chosen))]
        predicates = tuple(parse_predicate(f"{a}.{key[a, b]}", f"{b}.{key[b, a]}") for a, b in pairs)
        inputs = tuple(ViewInput(n) for n in chosen)
        asked.append(JoinQuery(f"Q{number + 1}", rng.choice(network.names), inputs, predicates))
    return World(network, Catalog(placed, edges), costs), asked


# name: rate per second, columns with width and distinct count
SOURCES: dict[str, tuple[float, dict[str, tuple[float, float | None]]]] = {
    "FLIGHTS": (
        1500 / 300,
        {
            "NUM": (4, 1500),
            "GATE": (6, None),
            "DEST": (4, 450),
            "TERMINAL": (2, TERMINALS),
            "CARRIER_CODE": (2, 1 / CARRIER_SHARE),
            "STATUS": (20, None),
            "DETAIL": (62, None),
        },
    ),
    "CHECKINS": (240 / 60, {"FLIGHT": (4, 120), "STATUS": (16, None), "DETAIL": (80, None)}),
    "BAGGAGE": (
        500 / 60,
        {"FLIGHT": (4, 125), "STATUS": (16, None), "AREA": (8, None), "DETAIL": (72, None)},
    ),
    "WEATHER": (450 / 300, {"CITY": (4, 450), "FORECAST": (60, None), "DETAIL": (36, None)}),
    "SALES": (70 / 60, {"DEST": (4, 70), "AMOUNT": (8, None), "DETAIL": (88, None)}),
}
KEYS: dict[str, tuple[str | None, str | None]] = {
    "FLIGHTS": ("NUM", "DEST"),
    "CHECKINS": ("FLIGHT", None),
    "BAGGAGE": ("FLIGHT", None),
}
KEYS |= {"WEATHER": (None, "CITY"), "SALES": (None, "DEST")}
OUTPUT = {
    "FLIGHTS": "GATE",
    "CHECKINS": "STATUS",
    "BAGGAGE": "STATUS",
    "WEATHER": "FORECAST",
    "SALES": "AMOUNT",
}
ACTIVE_FLIGHTS = 120


def enterprise(
    network: Network, seed: int = 0, queries: int = 300, costs: CostModel = USAGE
) -> tuple[World, list[JoinQuery]]:
    """The airline's queries on a network; sources and sinks at random nodes."""
    rng = random.Random(seed)
    streams = tuple(
        BaseStream(
            name,
            rng.choice(network.names),
            rate,
            100.0,
            tuple(ColumnStatistics(c, w, d) for c, (w, d) in columns.items()),
        )
        for name, (rate, columns) in SOURCES.items()
    )
    catalog = Catalog(streams)
    kinds = ["gate"] * round(0.8 * queries) + ["terminal"] * round(0.15 * queries)
    kinds += ["monitor"] * (queries - len(kinds))
    rng.shuffle(kinds)
    make = {"gate": _gate, "terminal": _terminal, "monitor": _monitor}
    asked = [make[kind](rng, catalog, f"{kind}-{i + 1}", network) for i, kind in enumerate(kinds)]
    return World(network, catalog, costs), asked


def _gate(rng: random.Random, catalog: Catalog, name: str, network: Network) -> JoinQuery:
    flight = value_condition(catalog, "FLIGHTS", "NUM", [str(rng.randint(1, ACTIVE_FLIGHTS))])
    inputs = (
        ViewInput("FLIGHTS", StreamFilter((flight,)), 300.0, frozenset(("GATE",))),
        ViewInput("BAGGAGE", window=60.0, columns=frozenset(("STATUS",))),
        ViewInput("CHECKINS", window=60.0, columns=frozenset(("STATUS",))),
    )
    predicates = (
        parse_predicate("FLIGHTS.NUM", "CHECKINS.FLIGHT"),
        parse_predicate("FLIGHTS.NUM", "BAGGAGE.FLIGHT"),
    )
    return JoinQuery(name, rng.choice(network.names), inputs, predicates, 60.0)


def _terminal(rng: random.Random, catalog: Catalog, name: str, network: Network) -> JoinQuery:
    where = conjoin_conditions(
        (
            value_condition(catalog, "FLIGHTS", "TERMINAL", [str(rng.randint(1, TERMINALS))]),
            value_condition(catalog, "FLIGHTS", "CARRIER_CODE", ["DL"]),
        )
    )
    inputs = (
        ViewInput("FLIGHTS", where, 300.0, frozenset(("NUM", "GATE"))),
        ViewInput("WEATHER", window=300.0, columns=frozenset(("FORECAST",))),
        ViewInput("CHECKINS", window=60.0, columns=frozenset(("STATUS",))),
        ViewInput("BAGGAGE", window=60.0, columns=frozenset(("AREA",))),
    )
    predicates = (
        parse_predicate("FLIGHTS.DEST", "WEATHER.CITY"),
        parse_predicate("FLIGHTS.NUM", "CHECKINS.FLIGHT"),
        parse_predicate("FLIGHTS.NUM", "BAGGAGE.FLIGHT"),
    )
    return JoinQuery(name, rng.choice(network.names), inputs, predicates, 60.0)


def _monitor(rng: random.Random, catalog: Catalog, name: str, network: Network) -> JoinQuery:
    while True:
        chosen = sorted(rng.sample(sorted(SOURCES), rng.randint(2, 5)))
        predicates = [
            parse_predicate(f"{a}.{KEYS[a][i]}", f"{b}.{KEYS[b][i]}")
            for a, b in combinations(chosen, 2)
            for i in (0, 1)
            if KEYS[a][i] and KEYS[b][i]
        ]
        if _connected(chosen, [(p.left[0], p.right[0]) for p in predicates]):
            break
    inputs = tuple(
        ViewInput(n, window=60.0 * rng.randint(1, 5), columns=frozenset((OUTPUT[n],))) for n in chosen
    )
    return JoinQuery(name, rng.choice(network.names), inputs, tuple(predicates), 60.0 * rng.randint(1, 5))


def _connected(names: list[str], pairs: list[tuple[str, str]]) -> bool:
    reached = {names[0]}
    for _ in names:
        reached |= {b for a, b in pairs if a in reached} | {a for a, b in pairs if b in reached}
    return reached == set(names)
