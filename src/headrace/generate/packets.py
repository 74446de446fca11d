"""Network packets with the habits of real ones: skewed, disordered, sometimes silent, sometimes hostile.

The stream is a function of (options, seed): rows come in slabs, and slab j draws from its own generator
seeded with (seed, j), so the same rows appear whatever the number and format of files, and memory holds one
slab.

**Who talks.** `groups` distinct (srcIP, destIP) pairs, the k-th most active with probability proportional to
k^-skew (0 is uniform). Sources live in 10.0.0.0/8, 200 to a /24 subnet, destinations in 172.16.0.0/12;
addresses are 32-bit integers, so the latter are negative, as they are in any INT column. A pair has four
connections.

**When.** `arrival` runs evenly over the duration, minus `lulls` quiet periods in which nothing is sent. Then
the two disorder patterns that the thesis found in router data (document 003, section 6.1.5, Figures 6-8 and
6-9):

* *band*: a row is sent up to `delay` before it arrives. Never more than `delay` behind the largest time
  seen, so a slack of `delay` is exact. A delay does not reach back into a lull or before the start.
* *block-sorted*: blocks of `block` rows ascend, the rows inside are shuffled, as a router empties its cache.

**Attacks.** A fraction `suspicious` of the rows are scans, a few pairs at a time, each by its own
connection. Their packets carry parts of FIN, PSH and URG and never an ACK, so the OR over a flow is `XMAS`
(41); one in four scans instead sends SYN|FIN (3). Ordinary traffic never sets URG.

**Replies.** By default all packets of a connection are filed under its client. With `replies` those that answer
(SYN|ACK) go the other way, from destination to source, as a tap would see them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.errors import OptionError
from headrace.generate.files import Format, OnRows, write_stream
from headrace.generate.options import check_counts, microseconds
from headrace.windows.duration import ticks

Disorder = Literal["none", "band", "block-sorted"]
Ints = NDArray[np.int64]

FIN, SYN, RST, PSH, ACK, URG = (1 << i for i in range(6))
XMAS = FIN | PSH | URG
SYN_FIN = SYN | FIN

SLAB = 512 * 1024
SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC"))]
    + [(n, pa.int32()) for n in ("srcIP", "destIP", "srcPort", "destPort", "protocol", "len", "flags")]
)

_HOSTS_PER_SUBNET = 200
_MINUTE = 60_000_000
# Services by destination port, as often as they are listed; the last four speak UDP.
_PORTS = np.array([443, 443, 443, 443, 80, 80, 80, 22, 25, 993, 5432, 8080, 53, 53, 123, 443], np.int32)
_PROTOCOLS = np.array([6] * 12 + [17] * 4, np.int32)
_FLAGS = np.array(
    [ACK] * 36 + [PSH | ACK] * 18 + [SYN] * 4 + [SYN | ACK] * 3 + [FIN | ACK] * 2 + [RST], np.int32
)
_SCAN_FLAGS = np.array([XMAS, XMAS, FIN | URG, PSH | URG], np.int32)
_LENGTHS = np.array([40] * 6 + [1500] * 5 + [52, 64, 120, 576, 1200], np.int32)


@dataclass(frozen=True)
class Packets:
    """The options of a packet stream, checked, and the stream itself as Arrow tables in arrival order."""

    rows: int
    seed: int
    groups: int
    sources: int
    skew: float
    start: int
    duration: int
    disorder: Disorder
    delay: int
    block: int
    lulls: int
    lull: int
    suspicious: float
    replies: bool = False

    def __post_init__(self) -> None:
        check_counts(
            rows=self.rows, groups=self.groups, sources=self.sources, duration=self.duration, block=self.block
        )
        if self.disorder not in get_args(Disorder):
            choices = ", ".join(get_args(Disorder))
            raise OptionError(f"disorder must be one of {choices}, got {self.disorder!r}")
        for name in ("seed", "skew", "delay", "lulls", "lull"):
            if getattr(self, name) < 0:
                raise OptionError(f"{name} must not be negative, got {getattr(self, name)}")
        if not 0 <= self.suspicious <= 1:
            raise OptionError(f"suspicious is a fraction of the rows, from 0 to 1, got {self.suspicious}")
        if self.quiet >= self.duration:
            raise OptionError(
                f"{self.lulls} lulls of {self.lull / 1e6:g} s leave nothing of a duration of "
                f"{self.duration / 1e6:g} s; use fewer or shorter lulls, or a longer duration"
            )
        if self.sources > self.groups:
            raise OptionError(f"sources must not exceed groups, got {self.sources} and {self.groups}")
        if self.sources > 10_000_000 or self._destinations > 800_000:
            raise OptionError(
                f"at most 10,000,000 sources of 800,000 destinations each can be addressed, "
                f"got {self.groups} groups of {self.sources} sources"
            )

    @property
    def quiet(self) -> int:
        """Microseconds of the duration in which nothing is sent."""
        return self.lulls * self.lull

    def tables(self) -> Iterator[pa.Table]:
        """The rows in arrival order, a slab at a time."""
        size = SLAB
        if self.disorder == "block-sorted":  # a slab holds whole blocks
            size = max(1, SLAB // self.block) * self.block
        for number, first in enumerate(range(0, self.rows, size)):
            rng = np.random.default_rng([self.seed, number + 1])
            yield self._slab(rng, first, min(size, self.rows - first))

    def _slab(self, rng: np.random.Generator, first: int, n: int) -> pa.Table:
        ts = self._times(rng, first, n)
        bits = rng.integers(0, 2**32, n, np.uint32)
        group = np.searchsorted(self._cumulative, rng.random(n), "right")
        connection = (bits & 3).astype(np.int64)
        scan = np.flatnonzero(rng.random(n) < self.suspicious)
        group[scan] = self._scanners(ts[scan], bits[scan])
        connection[scan] = 4
        hashed = _hash(group * 5 + connection)

        service = hashed & 15
        src_port = (1024 + (hashed >> 4) % 59_976).astype(np.int32)
        src_port[scan] = 61_000 + hashed[scan] % 4_000
        protocol = _PROTOCOLS[service]
        protocol[scan] = 6
        size = bits >> 2 & 15
        length = _LENGTHS[size] + ((bits >> 6 & 63) * (size >= 11)).astype(np.int32)
        length[scan] = 40
        flags = np.where(protocol == 6, _FLAGS[bits >> 12 & 63], np.int32(0))
        flags[scan] = np.where(hashed[scan] >> 20 & 3, _SCAN_FLAGS[bits[scan] >> 12 & 3], SYN_FIN)

        source = group % self.sources
        destination = (source * 7919 + group // self.sources) % self._destinations
        addresses = self._source_addresses[source], _address(172 << 24 | 16 << 16, destination)
        answers = (flags == SYN | ACK) & self.replies
        columns = [
            pa.array(ts + self.start).cast(SCHEMA.field("ts").type),
            *_exchange_where(answers, *addresses),
            *_exchange_where(answers, src_port, _PORTS[service]),
            protocol,
            length,
            flags,
        ]
        return pa.table(columns, schema=SCHEMA)

    def _times(self, rng: np.random.Generator, first: int, n: int) -> Ints:
        """Sending times in order of arrival, in microseconds after the start."""
        span = self.duration - self.quiet
        lo, hi = first * span // self.rows, (first + n) * span // self.rows
        arrival: Ints = np.sort(rng.integers(lo, max(hi, lo + 1), n))
        lulls_before = np.searchsorted(self._lulls, arrival, "right")
        arrival += lulls_before * self.lull
        if self.disorder == "band":
            since_silence = arrival - self._talk[lulls_before]
            longest = np.minimum(self.delay, since_silence)
            arrival -= (rng.random(n) * (longest + 1)).astype(np.int64)
        if self.disorder == "block-sorted":
            arrival = arrival[np.argsort(np.arange(n) // self.block + rng.random(n))]
        return arrival

    def _scanners(self, ts: Ints, bits: NDArray[np.uint32]) -> Ints:
        """Eight scanning groups a minute, among the least active hundredth."""
        quiet_groups = max(1, self.groups // 100)
        scanning: Ints = self.groups - 1 - _hash(ts // _MINUTE * 8 + (bits >> 20 & 7)) % quiet_groups
        return scanning

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        weight = np.arange(1, self.groups + 1, dtype=np.float64) ** -self.skew
        cumulative: NDArray[np.float64] = np.cumsum(weight) / weight.sum()
        cumulative[-1] = 1.0
        return cumulative

    @cached_property
    def _source_addresses(self) -> NDArray[np.int32]:
        """Addresses of the sources; shuffled, so that the busiest are spread over the subnets."""
        return _address(10 << 24, np.random.default_rng([self.seed, 0]).permutation(self.sources))

    @property
    def _destinations(self) -> int:
        return max(-(-self.groups // self.sources), min(800_000, self.groups // 4), 1)

    @cached_property
    def _lulls(self) -> Ints:
        """Where the lulls begin, in microseconds of talking time: spread out, with a jitter."""
        jitter = np.random.default_rng([self.seed, 0]).random(self.lulls)
        spacing = (self.duration - self.quiet) / max(self.lulls, 1)
        return ((np.arange(self.lulls) + 0.25 + jitter / 2) * spacing).astype(np.int64)

    @cached_property
    def _talk(self) -> Ints:
        """When talking begins: at the start and after each lull, in microseconds after the start."""
        return np.concatenate([[0], self._lulls + self.lull * np.arange(1, self.lulls + 1)])


def generate_packets(
    out: str | Path,
    *,
    rows: int = 1_000_000,
    files: int = 20,
    seed: int = 0,
    groups: int = 50_000,
    sources: int | None = None,
    skew: float = 1.0,
    start: datetime = datetime(2024, 1, 1, tzinfo=UTC),
    duration: str = "2 hours",
    disorder: Disorder = "none",
    delay: str = "5 seconds",
    block: int = 4096,
    lulls: int = 0,
    lull: str = "5 minutes",
    suspicious: float = 0.005,
    replies: bool = False,
    format: Format = "parquet",
    force: bool = False,
    on_rows: OnRows | None = None,
) -> list[Path]:
    """Write packets to the directory `out`; returns the files in arrival order.

    A naive `start` is UTC. `delay` belongs to band disorder, `block` to block-sorted, `lull` is the length
    of each of `lulls` quiet periods. With `replies`, answers come from the destination.
    `force` replaces what an earlier call generated in `out`. `on_rows`
    hears of progress.
    """
    packets = Packets(
        rows=rows,
        seed=seed,
        groups=groups,
        sources=max(1, groups // 8) if sources is None else sources,
        skew=skew,
        start=microseconds(start),
        duration=ticks(duration, "us"),
        disorder=disorder,
        delay=ticks(delay, "us"),
        block=block,
        lulls=lulls,
        lull=ticks(lull, "us"),
        suspicious=suspicious,
        replies=replies,
    )
    options: dict[str, Any] = {"what": "packets", **asdict(packets)}
    return write_stream(
        Path(out),
        packets.tables(),
        stem="packets",
        rows=rows,
        files=files,
        format=format,
        options=options,
        force=force,
        on_rows=on_rows,
    )


def _exchange_where(
    chosen: NDArray[np.bool_], one: NDArray[np.int32], other: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    return np.where(chosen, other, one), np.where(chosen, one, other)


def _hash(key: Ints) -> Ints:
    """The upper half of a multiplicative hash: enough to look random, the same everywhere."""
    return (key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(32)).astype(np.int64)


def _address(base: int, host: Ints) -> NDArray[np.int32]:
    """The 32-bit address of the n-th host of a network, hosts 1 to 200 in each /24."""
    address = base + (host // _HOSTS_PER_SUBNET << 8) + 1 + host % _HOSTS_PER_SUBNET
    return address.astype(np.uint32).view(np.int32)
