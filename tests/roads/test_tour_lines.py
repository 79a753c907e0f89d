"""Tours along roads: as lines, in GPX, in pictures, from the command line."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.cli import main
from fixedfleet.roads import osrm as osrm_client
from fixedfleet.roads import road_lines
from tests.town import corner

pytestmark = pytest.mark.slow
GPX = "{http://www.topografix.com/GPX/1/1}"


@pytest.fixture
def plan() -> ff.Plan:
    """A plan of the day."""
    return ff.Plan([[1, 4, 3], [2, 5, 6]])


@pytest.fixture
def table(day, tmp_path, monkeypatch):
    """The day as a CSV file; roads are kept in a folder of the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    path = tmp_path / "day.csv"
    ff.files.write_instance(day, path)
    return str(path)


def length(line: np.ndarray) -> float:
    """Return the length of a line in kilometres."""
    plain = ff.Instance(
        depot=line[0],
        customers=line[1:],
        demands=[1] * (len(line) - 1),
        capacity=1,
        vehicles=1,
        metric="great_circle",
    )
    return float(plain.between(range(len(line) - 1), range(1, len(line))).sum())


def test_a_line_is_as_long_as_its_tour(osrm, day, plan, tmp_path):
    """The lines of tours begin and end at the depot and have the tours' lengths."""
    roads = ff.with_roads(day, osrm, folder=tmp_path)
    lines = road_lines(plan, roads, osrm)
    for line, tour in zip(lines, plan.tour_lengths(roads), strict=True):
        assert length(line) == pytest.approx(tour, rel=0.01)
        assert np.allclose(line[[0, -1]], day.depot, atol=1e-4)


def test_a_long_tour_is_asked_for_in_pieces(osrm, day, monkeypatch, asked):
    """A tour with more stops than fit into a request has the same line."""
    whole = road_lines(ff.Plan([[1, 2, 3, 4, 5, 6]]), day, osrm)[0]
    monkeypatch.setattr("fixedfleet.roads.tour_lines.MOST_IN_ROUTE", 3)
    asked.clear()
    pieces = road_lines(ff.Plan([[1, 2, 3, 4, 5, 6]]), day, osrm)[0]
    assert len(asked) == 4
    assert length(pieces) == pytest.approx(length(whole), rel=0.02)


def test_solve_plans_by_road(osrm, day, table, tmp_path, capsys):
    """With --roads, lengths are those of roads, and GPX has tracks along them."""
    output = tmp_path / "plan.gpx"
    code = main(
        ["solve", table, "--roads", osrm, "--output", str(output), "--time-limit=0.1"]
    )
    said = capsys.readouterr().out
    assert code == 0
    assert f"note: distances and travel times by road, from {osrm}" in said
    assert "km (by road)" in said
    root = ElementTree.fromstring(output.read_text(encoding="utf-8"))
    assert len(root.findall(f"{GPX}rte")) == len(root.findall(f"{GPX}trk")) == 2
    points = root.findall(f"{GPX}trk/{GPX}trkseg/{GPX}trkpt")
    assert len(points) > 2 * day.num_customers


def test_options_of_straight_lines_are_said_to_be_unused(osrm, table, capsys):
    """A speed or a detour has no effect on a plan by road, and a note says so."""
    roads = ["solve", table, "--roads", osrm, "--search=none"]
    assert main([*roads, "--speed=30", "--detour=1.3"]) == 0
    said = "note: --speed and --detour are not used: the plan is by road"
    assert said in capsys.readouterr().out
    assert main([*roads, "--detour=1.3"]) == 0
    assert "note: --detour is not used: the plan" in capsys.readouterr().out
    assert main(roads) == 0
    assert "not used" not in capsys.readouterr().out


def test_a_day_is_timed_by_road(osrm, day, tmp_path, monkeypatch, capsys):
    """With roads, windows and minutes of a table count without a speed."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    places = [day.depot, *day.customers]
    rows = [
        f"{i},{lat},{lon},{i and 1},{i and 4}" for i, (lat, lon) in enumerate(places)
    ]
    path = tmp_path / "timed.csv"
    path.write_text("\n".join(["name,lat,lon,demand,minutes", *rows]), encoding="utf-8")
    output = tmp_path / "plan.json"
    options = ["--vehicles=2", "--capacity=4", "--shift=08:00-09:30", "--search=none"]
    files = ["--roads", osrm, "--output", str(output)]
    assert main(["solve", str(path), *options, *files]) == 0
    said = capsys.readouterr()
    assert "consider" not in said.err and "km/h" not in said.out
    plan = ff.read_plan(output)
    by_road = ff.with_roads(
        ff.read(path, vehicles=2, capacity=4, speed=1, shift=(480, 570)), osrm
    )
    times = plan.timetable(by_road)
    legs = by_road.time_matrix[[0, *plan.tours[0]], [*plan.tours[0], 0]]
    service = 4 * len(plan.tours[0])
    assert times[0].end == pytest.approx(480 + legs.sum() + service)
    assert plan.check(by_road) == []


def test_the_picture_shows_the_roads(osrm, day, plan, table, tmp_path):
    """In a picture by road, the line of a tour follows the streets."""
    picture = tmp_path / "plan.svg"
    arguments = ["--plot", str(picture), "--time-limit=0.1", "--quiet"]
    assert main(["solve", table, "--roads", osrm, *arguments]) == 0
    assert "by road" in picture.read_text(encoding="utf-8")
    lines = road_lines(plan, day, osrm)
    roads = ff.with_roads(day, osrm)
    axes = ff.plotting.plot_plan(plan, roads, lines=lines)
    drawn = [len(line.get_xdata()) for line in axes.get_lines()]
    assert len(lines[0]) in drawn and len(lines[1]) in drawn


def test_solve_without_a_server_plans_nothing(table, tmp_path, capsys):
    """If the server does not answer, there is one sentence, and no plan."""
    output = tmp_path / "plan.csv"
    url = "http://127.0.0.1:9"
    assert main(["solve", table, "--roads", url, "--output", str(output)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert f"no OSRM server answers at {url}" in said.err
    assert not output.exists()


def test_without_roads_lengths_are_straight_lines(table, capsys):
    """The report says that lengths are straight lines, and by what they are taken."""
    assert main(["solve", table, "--search=none"]) == 0
    plain = capsys.readouterr().out
    assert "km (straight line)" in plain
    assert main(["solve", table, "--search=none", "--detour=1.3"]) == 0
    longer = capsys.readouterr().out
    assert "km (straight line times 1.3)" in longer
    lengths = [
        float(said.split("length ")[-1].split(" km (")[0]) for said in (plain, longer)
    ]
    assert lengths[1] == pytest.approx(1.3 * lengths[0], rel=1e-3)


def test_a_detour_counts_in_large_instances(day):
    """With so many customers that distances are not kept, the detour counts, too."""
    rng = np.random.default_rng(1)
    places = rng.uniform(corner(0, 0), corner(19, 19), size=(520, 2))
    many = replace(
        day,
        customers=places,
        demands=[1] * 520,
        capacity=260,
        names=None,
        detour=1.3,
    )
    found = ff.solve(many, time_limit=0.2)
    assert found.plan.check(many) == []
    straight = replace(many, detour=1.0)
    assert found.length == pytest.approx(1.3 * found.plan.length(straight))


def test_lines_need_degrees(square):
    """Coordinates in a plane have no roads."""
    with pytest.raises(ff.InputError, match="need latitudes and longitudes"):
        road_lines(ff.Plan([[1]]), square, "http://localhost:5000")


def test_another_answer_is_no_line(day, plan, answering):
    """A server that answers a route without a line is said not to be OSRM."""
    with (
        answering(b'{"code": "Ok", "routes": []}') as url,
        pytest.raises(osrm_client.RoadsError, match="as an OSRM server does"),
    ):
        road_lines(plan, day, url)
