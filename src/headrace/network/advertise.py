"""Stream advertisements (004, section 3.1.3): who knows of which stream.

A node advertises the base streams that arise at it and the derived streams of the operators and sinks it
holds. A coordinator gathers what is under it and hands it up, so that it knows every stream within its
cluster, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass

from headrace.network.deployment import Deployment, FeedOrigin
from headrace.network.hierarchy import Hierarchy
from headrace.network.join_view import View, ViewInput
from headrace.network.stream_catalog import Catalog


@dataclass(frozen=True)
class Advertisement:
    """A stream to be had at a node."""

    origin: FeedOrigin
    node: str
    view: View

    @property
    def derived(self) -> bool:
        return self.origin.kind != "stream"


def list_advertisements(catalog: Catalog, deployment: Deployment) -> tuple[Advertisement, ...]:
    """All streams: base, then those of operators, then those of sinks."""
    base = [
        Advertisement(FeedOrigin("stream", s.name), s.node, View((ViewInput(s.name),)))
        for s in catalog.streams
    ]
    made = [Advertisement(FeedOrigin("operator", o.id), o.node, o.view) for o in deployment.operators]
    sunk = [Advertisement(FeedOrigin("sink", d.query), d.node, d.feed.view) for d in deployment.deliveries]
    return (*base, *made, *sunk)


@dataclass(frozen=True)
class AdvertisementDirectory:
    """What each coordinator knows: per level, coordinator to advertisements under it."""

    levels: tuple[dict[str, tuple[Advertisement, ...]], ...]
    messages: int

    def known(self, level: int, coordinator: str) -> tuple[Advertisement, ...]:
        return self.levels[level - 1].get(coordinator, ())


def gather_advertisements(
    hierarchy: Hierarchy, advertised: tuple[Advertisement, ...]
) -> AdvertisementDirectory:
    """Hand every advertisement up the hierarchy; each step to another node is one message."""
    levels: list[dict[str, list[Advertisement]]] = [{} for _ in hierarchy.levels]
    messages = 0
    for one in advertised:
        at = one.node
        for level in range(1, hierarchy.height + 1):
            coordinator = hierarchy.cluster(level, at).coordinator
            levels[level - 1].setdefault(coordinator, []).append(one)
            messages += coordinator != at
            at = coordinator
    frozen = tuple({name: tuple(ads) for name, ads in level.items()} for level in levels)
    return AdvertisementDirectory(frozen, messages)
