"""Warnings about doubtful data, and silence about ordinary data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fixedfleet as ff
from fixedfleet import generate
from fixedfleet.doubts import find_doubts
from fixedfleet.files import read

EXAMPLES = Path(__file__).parent.parent / "examples"
TOWNS = {
    "Leipzig": (51.34, 12.37),
    "London": (51.5, -0.1),
    "Stockholm": (59.3, 18.1),
    "Vienna": (48.2, 16.4),
    "New York": (40.7, -74.0),
    "Delhi": (28.6, 77.2),
    "Johannesburg": (-26.2, 28.0),
    "São Paulo": (-23.5, -46.6),
    "Buenos Aires": (-34.6, -58.4),
}


@pytest.fixture
def town():
    """Thirty customers around Leipzig, with names and demands."""
    rng = np.random.default_rng(1)
    points = rng.normal((51.34, 12.37), (0.06, 0.1), size=(31, 2))
    return ff.Instance(
        depot=points[0],
        customers=points[1:],
        demands=rng.integers(1, 9, 30),
        capacity=40,
        vehicles=6,
        metric="great_circle",
        names=[f"Shop {i}" for i in range(1, 31)],
        depot_name="Freight centre",
    )


def moved(instance, places):
    """The same instance with some locations elsewhere."""
    points = instance.coordinates.copy()
    for location, point in places.items():
        points[location] = point
    return replace(instance, depot=points[0], customers=points[1:])


def shifted(town, place):
    """The town of Leipzig at another place."""
    points = town.coordinates + (np.array(place) - TOWNS["Leipzig"])
    return replace(town, depot=points[0], customers=points[1:])


def kinds(instance):
    """The kind and the customers of each doubt."""
    return [(doubt.kind, doubt.customers) for doubt in find_doubts(instance)]


def test_one_row_with_latitude_and_longitude_swapped(town):
    """A customer whose latitude and longitude are swapped is named with its row."""
    wrong = moved(town, {7: town.coordinates[7][::-1]})
    rows = range(5, 36)
    (doubt,) = find_doubts(wrong, rows)
    assert (doubt.kind, doubt.customers) == ("swapped", [7])
    assert doubt.text == "row 12 (Shop 7): latitude and longitude look swapped"
    (doubt,) = find_doubts(wrong)
    assert doubt.text == "customer 7 (Shop 7): latitude and longitude look swapped"


def test_several_rows_swapped_and_the_depot(town):
    """Several swapped rows are one warning; a depot cannot be left out."""
    swapped = {place: town.coordinates[place][::-1] for place in (0, 3, 5, 8, 9, 20)}
    (doubt,) = find_doubts(moved(town, swapped))
    assert (doubt.kind, doubt.customers) == ("swapped", [3, 5, 8, 9, 20])
    assert doubt.text.startswith("depot (Freight centre), customer 3 (Shop 3), ")
    assert "and 1 more: latitude and longitude look swapped" in doubt.text


def test_a_row_at_zero(town):
    """A customer at 0, 0 is named; its place is probably missing."""
    (doubt,) = find_doubts(moved(town, {4: (0, 0)}))
    assert (doubt.kind, doubt.customers) == ("zero", [4])
    assert "customer 4 (Shop 4): the place is 0, 0" in doubt.text


def test_a_customer_far_from_all_others(town):
    """A customer in another country is named with its distance, in the own unit."""
    wrong = moved(town, {4: (48.2, 16.4)})  # Vienna
    (doubt,) = find_doubts(wrong)
    assert (doubt.kind, doubt.customers) == ("far", [4])
    assert doubt.text == (
        "customer 4 (Shop 4) is far from all others: 454 km from the middle of all "
        "places; half of them are within 6.32 km"
    )
    (doubt,) = find_doubts(replace(wrong, length_unit="mi"))
    assert "282 mi from the middle" in doubt.text
    plane = replace(wrong, metric="euclidean", length_unit="")
    assert kinds(plane) == [("far", [4])]


def test_a_place_that_a_geocoder_gives_for_whatever_it_does_not_know(town):
    """Many customers at one distant place are doubtful; a second town is not."""
    unknown = dict.fromkeys(range(1, 8), (48.2, 16.4))
    assert kinds(moved(town, unknown)) == [("far", [c]) for c in range(1, 8)]
    rng = np.random.default_rng(2)
    second = {c: rng.normal((48.2, 16.4), 0.05) for c in range(1, 8)}
    assert kinds(moved(town, second)) == []


def test_a_depot_outside_the_town_is_nothing_unusual(town):
    """A depot may lie 60 km away, but not on another continent."""
    assert kinds(moved(town, {0: (51.8, 12.9)})) == []
    assert kinds(moved(town, {0: (40.7, -74.0)})) == [("far", [])]


@pytest.mark.parametrize("name", TOWNS)
def test_all_rows_swapped(town, name):
    """If all rows are swapped, they lie in a sea or a desert, and one is told."""
    right = shifted(town, TOWNS[name])
    assert kinds(right) == []
    points = right.coordinates[:, ::-1]
    (doubt,) = find_doubts(replace(town, depot=points[0], customers=points[1:]))
    assert (doubt.kind, doubt.customers) == ("swapped", [])
    assert "look swapped in all rows" in doubt.text


@pytest.mark.parametrize(
    "place",
    [(25.2, 55.3), (22.3, 70.8), (2.0, 45.3), (6.5, 3.4), (69.6, 19.0), (-51.7, -57.9)],
    ids=["Dubai", "Rajkot", "Mogadishu", "Lagos", "Tromsø", "Stanley"],
)
def test_towns_beside_seas_and_deserts_are_not_swapped(town, place):
    """Towns near the regions that swapped places fall into are left alone."""
    assert kinds(shifted(town, place)) == []


# Points on the borders of the regions without towns, each with a point beyond it.
BORDERS = [
    ((-10, 57), (-10.25, 57)),
    ((23, 57), (23.25, 57)),
    ((5, 46), (5, 45.75)),
    ((5, 68), (5, 68.25)),
    ((72, 100), (71.75, 100)),
    ((-57, -100), (-56.75, -100)),
    ((-35, -20), (-34.75, -20)),
    ((-45, -50), (-45, -50.25)),
    ((-45, 10), (-45, 10.25)),
    ((17.5, -30), (17.25, -30)),
    ((33, -30), (33.25, -30)),
    ((25, -35), (25, -35.25)),
    ((25, -22), (25, -21.75)),
]


@pytest.mark.parametrize(("border", "beyond"), BORDERS)
def test_the_border_of_a_sea_belongs_to_it(border, beyond):
    """Places on the border of such a region are doubted; those beyond it are not."""
    assert kinds(at_one_place(border)) == [("swapped", [])]
    assert kinds(at_one_place(beyond)) == []


@pytest.mark.parametrize("lat", [90, 72, -57, -90])
@pytest.mark.parametrize("lon", [-180, 180])
def test_the_arctic_and_antarctica_go_round_the_globe(lat, lon):
    """Nobody delivers near the poles, at any longitude."""
    assert kinds(at_one_place((lat, lon))) == [("swapped", [])]


def at_one_place(place):
    """Two customers at the depot, on the globe."""
    return ff.Instance(
        depot=place,
        customers=[place, place],
        demands=[1, 1],
        capacity=2,
        vehicles=1,
        metric="great_circle",
    )


def around(count, *elsewhere, depot=(0, 1), **fields):
    """So many places, of which all but some lie at distance 1 around the middle."""
    ring = [(0, 1), (1, 0), (0, -1), (-1, 0)] * count
    customers = [*elsewhere, *ring[1 : count - len(elsewhere)]]
    return ff.Instance(
        depot=depot,
        customers=customers,
        demands=[1] * len(customers),
        capacity=count,
        vehicles=1,
        **fields,
    )


def test_how_far_is_far():
    """Beyond 20 times the usual distance a customer is far, beyond 50 the depot is."""
    assert kinds(around(20, (20, 0))) == []
    assert kinds(around(20, (20.25, 0))) == [("far", [1])]
    assert kinds(around(20, depot=(50, 0))) == []
    assert kinds(around(20, depot=(50.25, 0))) == [("far", [])]


def test_among_few_places_none_is_far():
    """Among fewer than 20 places, one that is far away is nothing unusual."""
    assert kinds(around(19, (30, 0))) == []
    assert kinds(around(20, (30, 0))) == [("far", [1])]


def test_three_places_together_are_still_alone():
    """Up to three different places near each other are far; four are a town."""
    away = [(30, y / 10) for y in range(4)]
    assert kinds(around(24, *away[:3])) == [("far", [c]) for c in (1, 2, 3)]
    assert kinds(around(24, *away)) == []


def test_among_four_places_none_is_swapped():
    """With fewer than five places, the middle of all places says nothing."""
    globe = {"metric": "great_circle"}
    ring = [(50, 9), (51, 10), (50, 11)]  # the depot is at (49, 10)
    five = around(5, *ring, (10, 50), depot=(49, 10), **globe)
    assert kinds(five) == [("swapped", [4])]
    assert kinds(around(4, *ring[:2], (10, 50), depot=(49, 10), **globe)) == []


def test_a_second_depot(town):
    """A customer without demand that is called a depot, or lies there, is named."""
    demands, names = town.demands.copy(), list(town.names)
    demands[[2, 6]], names[2] = 0, "Lager Süd"
    two = moved(replace(town, demands=demands, names=names), {7: town.depot})
    (doubt,) = find_doubts(two, range(2, 33))
    assert (doubt.kind, doubt.customers) == ("depot", [3, 7])
    assert doubt.text == (
        "row 5 (Lager Süd) and row 9 (Shop 7) look like depots: there is one depot, "
        "Freight centre, and others are customers"
    )


def test_cancelled_orders(town):
    """A status or remark that says so is shown; its customer can be left out."""
    texts = [""] * 31
    texts[4], texts[9] = "bitte klingeln", "STORNIERT - nicht anfahren"
    remarks = {"Telefon": ("",) * 31, "Bemerkung": tuple(texts)}
    (doubt,) = find_doubts(replace(town, columns=remarks))
    assert (doubt.kind, doubt.customers) == ("cancelled", [9])
    said = "customer 9 (Shop 9) looks cancelled: 'STORNIERT - nicht anfahren'"
    assert doubt.text == said


def test_a_long_remark_is_shown_in_part(town):
    """A message has 40 characters of it; 80 are searched."""
    long = "storniert, " + 60 * "x"
    for text, said in (
        (long, f"looks cancelled: {long[:40]!r}"),
        (72 * "x" + " abgesagt", None),
        (71 * "x" + " abgesagt", f"looks cancelled: {40 * 'x'!r}"),
    ):
        texts = ("", "", text, *[""] * 28)
        found = find_doubts(replace(town, columns={"Bemerkung": texts}))
        assert [doubt.customers for doubt in found] == ([[2]] if said else [])
        assert all(doubt.text.endswith(said) for doubt in found)


def test_five_rows_are_named(town):
    """Of six, five are named and one is counted."""
    for count, said in ((5, " and customer 5 (Shop 5): the"), (6, " and 1 more: the")):
        demands = town.demands.copy()
        demands[:count] = 0
        (doubt,) = find_doubts(replace(town, demands=demands))
        assert doubt.text.count("Shop") == 5
        assert said in doubt.text


def test_duplicates_of_name_place_and_demand(town):
    """A row that is there twice is named; a chain or a split order is ordinary."""
    names, demands = list(town.names), town.demands.copy()
    names[9], demands[9] = "shop 4 ", demands[3]
    chain = replace(town, names=names, demands=demands)
    assert kinds(chain) == []
    twice = moved(chain, {10: town.coordinates[4]})
    (doubt,) = find_doubts(twice, range(2, 33))
    assert (doubt.kind, doubt.customers) == ("duplicate", [10])
    assert doubt.text == (
        "row 12 (shop 4 ) has the same name, place and demand as row 6 (Shop 4)"
    )
    demands[9] += 1
    assert kinds(replace(twice, demands=demands)) == []


def test_a_demand_of_zero(town):
    """Customers without demand are named, whatever the distances are."""
    demands = town.demands.copy()
    demands[[2, 6]] = 0
    idle = replace(town, demands=demands)
    (doubt,) = find_doubts(idle)
    assert (doubt.kind, doubt.customers) == ("demand", [3, 7])
    assert doubt.text == "customer 3 (Shop 3) and customer 7 (Shop 7): the demand is 0"
    bare = replace(idle, matrix=town.distances, depot=None, customers=None, names=None)
    assert find_doubts(bare)[0].text == "customer 3 and customer 7: the demand is 0"


def test_leaving_doubtful_customers_out(town):
    """The customers of a doubt can be left out of the instance."""
    wrong = moved(town, {4: (0, 0), 9: town.coordinates[9][::-1]})
    doubtful = [c for doubt in find_doubts(wrong) for c in doubt.customers]
    rest = wrong.without(doubtful)
    assert rest.num_customers == 28
    assert find_doubts(rest) == []


@pytest.mark.parametrize("n", [1, 4, 5, 20, 100])
def test_no_false_alarms_about_generated_instances(n):
    """Instances of the generators are ordinary: nothing about them is doubted."""
    for name in ("uniform", "clustered"):
        for one in generate.draw(name, n, 50, seed=5, vehicles=n, capacity=50):
            assert find_doubts(one) == [], name
    for seed in range(20):
        assert find_doubts(generate.uchoa(max(n, 20), seed=seed)) == []


def test_no_false_alarms_about_the_examples():
    """The examples have nothing doubtful in them."""
    for path in sorted(EXAMPLES.glob("*.csv")):
        assert find_doubts(read(path, 7, capacity=950)) == [], path.name


@pytest.mark.slow
def test_no_false_alarms_about_cvrplib(shared):
    """CVRPLIB's instances, clustered or not, have nothing doubtful in them."""
    paths = sorted((shared / "cvrplib").glob("[AX]/*.vrp"))
    assert len(paths) == 110
    for path in paths[::5]:
        assert find_doubts(read(path)) == [], path.stem


@pytest.mark.parametrize(
    ("heading", "cells", "doubtful"),
    [
        ("Lieferfenster", ["08:00–12:00"] * 30, True),
        ("Lieferfenster", ["", *["vormittags"] * 29], True),
        ("Öffnungszeiten", ["8 bis 12 Uhr"] * 30, True),
        ("Wann", ["8.00 - 12.00"] * 16 + [""] * 14, True),
        ("Wann", ["8.00 - 12.00"] * 15 + ["egal"] * 15, False),
        ("Wann", ["8.00 - 12.00"] * 16 + ["egal"] * 14, True),
        ("Wann", [70 * "x" + "8:00-12:00"] * 30, True),
        ("Wann", [71 * "x" + "8:00-12:00"] * 30, False),
        (66 * "x" + " delivery time", ["x"] * 30, True),
        (67 * "x" + " delivery time", ["x"] * 30, False),
        ("Delivery window", ["8am to 12 pm"] * 30, True),
        (
            "Bemerkung",
            ["Anlieferung bis 10 Uhr", *["08:00-12:00"] * 5, *["Hof"] * 24],
            False,
        ),
        ("Telefon", ["0341 4710-102"] * 30, False),
        ("Hausnummer", ["10-12"] * 30, False),
        ("Lieferfenster", [""] * 30, False),
        ("Lieferfenster", ["vormittags", *[""] * 29], True),
    ],
)
def test_delivery_times_are_named_as_ignored(town, heading, cells, doubtful):
    """A column that looks like delivery times is not passed over in silence."""
    found = find_doubts(replace(town, columns={heading: ["", *cells]}))
    said = f"column {heading!r} looks like delivery times, which plans do not consider"
    assert [doubt.text for doubt in found] == ([said] if doubtful else [])
    assert all((doubt.kind, doubt.customers) == ("windows", []) for doubt in found)


def test_opening_hours_of_the_depot_are_no_delivery_times(town):
    """Only the cells of customers make a column one of delivery times."""
    cells = ["08:00-12:00", *[""] * 30]
    assert find_doubts(replace(town, columns={"Lieferfenster": cells})) == []


def test_a_single_second_depot(town):
    """One customer that looks like a depot is named in the singular."""
    demands = town.demands.copy()
    demands[6] = 0
    (doubt,) = find_doubts(moved(replace(town, demands=demands), {7: town.depot}))
    assert (doubt.kind, doubt.customers) == ("depot", [7])
    assert "customer 7 (Shop 7) looks like a second depot" in doubt.text
