"""Distances and travel times by road, asked for once."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet.roads import kept_legs, road_distances
from fixedfleet.roads import osrm as osrm_client
from tests.town import corner

pytestmark = pytest.mark.slow


def with_customer(day: ff.Instance, name: str, place: tuple[float, float]):
    """Return the day with one customer more."""
    return replace(
        day,
        customers=np.vstack((day.customers, place)),
        demands=[*day.demands, 1],
        names=[*day.names, name],
    )


def test_roads_follow_the_streets(osrm, day, tmp_path):
    """In a grid of streets, a way is as long as both of its sides together."""
    by_road = ff.with_roads(day, osrm, folder=tmp_path)
    plain = replace(day, customers=[corner(10, 14)] * 6)
    straight = plain.between([0], [1])[0]
    along = ff.with_roads(plain, osrm, folder=tmp_path)
    assert along.distances[0, 1] == pytest.approx(straight, rel=0.01)
    assert (by_road.distances + 0.02 >= day.distances).all()
    assert by_road.distances[0, 2] > 1.3 * day.distances[0, 2]
    assert by_road.metric == "road" and by_road.geographic


def test_a_one_way_street_makes_ways_differ(osrm, day, tmp_path):
    """Against a one-way street, the way back leads around it."""
    street = replace(day, customers=[corner(5, column) for column in range(4, 10)])
    roads = ff.with_roads(street, osrm, folder=tmp_path)
    assert roads.distances[1, 3] < roads.distances[3, 1]
    plan = ff.solve(roads, time_limit=0.1).plan
    assert plan.check(roads) == []


def test_places_are_asked_for_once(osrm, day, tmp_path, asked):
    """A second day with the same places asks for a few known ways, to see changes."""
    first = ff.with_roads(day, osrm, folder=tmp_path)
    assert len(asked) > 1
    asked.clear()
    assert ff.with_roads(day, osrm, folder=tmp_path) == first
    assert len(asked) == 1


def test_a_new_customer_costs_a_row_and_a_column(osrm, day, tmp_path, asked):
    """Of the pairs of tomorrow, only those of the new customer are asked for."""
    ff.with_roads(day, osrm, folder=tmp_path)
    asked.clear()
    progress = []
    more = with_customer(day, "Gerd", corner(3, 3))
    roads = ff.with_roads(more, osrm, folder=tmp_path, on_progress=progress.append)
    assert (progress[0].found, progress[-1].done) == (49, 64)
    assert len(asked) == 4  # known ways, the road of the place, a row, a column
    assert roads.without([7]) == ff.with_roads(day, osrm, folder=tmp_path)


def test_large_tables_come_in_blocks(osrm, day, tmp_path, asked):
    """A server that allows 20 × 20 at most is asked for that; nothing is missing."""
    places = [corner(row, column) for row in range(0, 20, 2) for column in range(5)]
    many = replace(day, customers=places, demands=[1] * 50, names=None, capacity=25)
    roads = ff.with_roads(many, osrm, folder=tmp_path)
    assert np.isfinite(roads.matrix).all()
    assert all("destinations" in address for address in asked)
    assert 16 <= len(asked) <= 20  # a few are refused first


def test_customers_at_one_place_share_their_ways(osrm, day, tmp_path):
    """Two customers in one house are no distance apart, and equally far from all."""
    twice = with_customer(day, "Anna 2", day.customers[0])
    roads = ff.with_roads(twice, osrm, folder=tmp_path)
    assert roads.distances[1, 7] == 0
    assert np.array_equal(roads.matrix[1], roads.matrix[7])


def test_lengths_are_miles_if_asked_for(osrm, day, tmp_path):
    """With miles as the unit, distances by road are miles, too."""
    miles = ff.with_roads(replace(day, length_unit="mi"), osrm, folder=tmp_path)
    kilometres = ff.with_roads(day, osrm, folder=tmp_path)
    assert np.allclose(miles.matrix * 1.609344, kilometres.matrix)


def test_other_roads_are_noticed(osrm, day, tmp_path):
    """If the server has other roads than yesterday, nothing that was kept is used."""
    right = ff.with_roads(day, osrm, folder=tmp_path)
    (path,) = tmp_path.glob("roads-*.npz")
    legs = kept_legs.read_legs(path)
    legs.metres[:] += 7.0
    kept_legs.keep_legs(path, legs, forget=True)
    assert ff.with_roads(day, osrm, folder=tmp_path) == right
    assert np.array_equal(
        kept_legs.read_legs(path).between(legs.places).metres, legs.metres - 7.0
    )


def test_a_place_without_a_road_is_named(osrm, day, tmp_path):
    """Every customer that is far from all roads is named, with the distance."""
    lost = with_customer(day, "Insel", (51.3, 13.7))
    lost = with_customer(lost, "Meer", (54.5, 12.0))
    with pytest.raises(ff.InputError) as error:
        ff.with_roads(lost, osrm, folder=tmp_path)
    text = str(error.value)
    assert "'Insel' (" in text and "'Meer' (" in text and osrm in text
    assert "Anna" not in text


def test_a_pair_without_a_way_is_named(osrm, day, tmp_path):
    """A customer in a town that no road connects is named, and nothing is planned."""
    cut_off = with_customer(day, "Drüben", corner(3, 3, town=1))
    with pytest.raises(ff.InputError, match=r"no way by road from .*'Drüben'"):
        ff.with_roads(cut_off, osrm, folder=tmp_path)
    # The rest of the day is known by now.
    assert ff.with_roads(day, osrm, folder=tmp_path).metric == "road"


def test_what_was_answered_before_an_error_is_kept(osrm, day, tmp_path, monkeypatch):
    """After a server has failed, the next call asks for the rest only."""
    monkeypatch.setattr(road_distances, "_BLOCK", 3)
    answers = iter(range(5))
    ask = road_distances.ask_table

    def fails(*arguments):
        if next(answers, None) is None:
            raise osrm_client.RoadsError("gone")
        return ask(*arguments)

    monkeypatch.setattr(road_distances, "ask_table", fails)
    with pytest.raises(ff.InputError, match="gone"):
        ff.with_roads(day, osrm, folder=tmp_path)
    monkeypatch.setattr(road_distances, "ask_table", ask)
    progress = []
    ff.with_roads(day, osrm, folder=tmp_path, on_progress=progress.append)
    assert progress[0].found >= 9 and progress[-1].done == 49


def test_two_processes_may_keep_at_once(tmp_path):
    """Ways that two processes add at the same time are all kept."""
    path = tmp_path / "roads.npz"

    def keep(number: int) -> None:
        places = np.array([[number, 0.0], [number, 1.0]])
        kept_legs.keep_legs(path, kept_legs.Legs(places, np.eye(2), np.eye(2)))

    threads = [threading.Thread(target=keep, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    legs = kept_legs.read_legs(path)
    assert len(legs.places) == 16
    assert int(np.isfinite(legs.metres).sum()) == 8 * 4


def test_the_oldest_places_are_dropped(tmp_path, monkeypatch):
    """The file does not grow without end: the places added last stay."""
    monkeypatch.setattr(kept_legs, "MOST_PLACES", 3)
    path = tmp_path / "roads.npz"
    for number in range(4):
        places = np.array([[number, 0.0]])
        kept_legs.keep_legs(path, kept_legs.Legs(places, np.eye(1), np.eye(1)))
    assert kept_legs.read_legs(path).places[:, 0].tolist() == [3, 2, 1]


def test_a_damaged_file_is_asked_for_again(tmp_path):
    """Half a file counts as no file: all of it can be asked for again."""
    path = tmp_path / "roads.npz"
    places = np.zeros((1, 2))
    kept_legs.keep_legs(path, kept_legs.Legs(places, np.eye(1), np.eye(1)))
    path.write_bytes(path.read_bytes()[:60])
    assert len(kept_legs.read_legs(path).places) == 0


def test_only_degrees_have_roads(square):
    """Coordinates in a plane have no roads."""
    with pytest.raises(ff.InputError, match="need latitudes and longitudes"):
        ff.with_roads(square, "http://localhost:5000")
