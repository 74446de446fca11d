"""The clock of another place in DuckDB SQL.

A zone DuckDB does not know is an error that TRY does not catch, so names are looked up first; offsets (`+01:00`, `GMT-3`),
which it does not know at all, are added.
"""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones

_OFFSET = "^(UTC|GMT|UT)?([+-])([0-9]{1,2})(?::([0-9]{2}))?(?::([0-9]{2}))?$"


def from_utc(moment: str, zone: str) -> str:
    """What a clock in the zone shows at the moment, as if it were UTC; NULL if there is no such zone."""
    named = "make_timestamptz(epoch_us(timezone(hr_z, hr_m)))"
    return _in_zone(moment, zone, named, "+")


def to_utc(moment: str, zone: str) -> str:
    """The moment at which a clock in the zone shows what `moment` is in UTC."""
    named = "timezone(hr_z, make_timestamp(epoch_us(hr_m)))"
    return _in_zone(moment, zone, named, "-")


def _in_zone(moment: str, zone: str, named: str, sign: str) -> str:
    parts = f"regexp_extract(hr_z, '{_OFFSET}', ['u', 's', 'h', 'm', 'c'])"
    seconds = " + ".join(f"coalesce(TRY_CAST(hr_o.{f} AS BIGINT), 0) * {n}" for f, n in (("h", 3600), ("m", 60), ("c", 1)))
    ahead = f"(CASE WHEN hr_o.s = '-' THEN -1 ELSE 1 END * ({seconds}))"
    ticks = f"CASE WHEN abs({ahead}) <= 64800 THEN epoch_us(hr_m) {sign} {ahead} * 1000000 END"
    offset = f"list_transform([{parts}], lambda hr_o: make_timestamptz({ticks}))[1]"
    body = (
        f"CASE WHEN hr_z IN ({_listed()}) THEN {named} WHEN hr_z = 'Z' THEN hr_m "
        f"WHEN regexp_matches(hr_z, '{_OFFSET}') THEN {offset} END"
    )
    inner = f"list_transform([{zone}], lambda hr_z: {body})[1]"
    return f"list_transform([{moment}], lambda hr_m: {inner})[1]"


@cache
def _listed() -> str:
    """The names both engines know; of three letters, those Java has beside the regions."""
    regions = {n for n in available_timezones() if n not in ("localtime", "Factory", "posixrules")}
    return ", ".join(f"'{n}'" for n in sorted(regions | {"PST"}))
