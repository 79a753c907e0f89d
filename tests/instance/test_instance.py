"""Tests of Instance."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fixedfleet as ff


def fields(**changes):
    """Fields of a small valid instance, with changes."""
    return {
        "depot": (0.0, 0.0),
        "customers": [[3.0, 4.0], [6.0, 8.0]],
        "demands": [1, 2],
        "capacity": 3,
        "vehicles": 1,
    } | changes


def test_distances_are_euclidean_by_default(square):
    """Coordinates give exact Euclidean distances, the depot being location 0."""
    assert square.distances[0, 1] == pytest.approx(np.sqrt(2))
    assert square.distances[1, 2] == 2.0
    assert square.distances.shape == (5, 5)


@pytest.mark.parametrize(
    ("rounding", "expected"), [("none", 2.5), ("round", 3), ("ceil", 3), ("trunc", 2)]
)
def test_each_rounding_convention(rounding, expected):
    """Distances are rounded as asked, halves upwards as TSPLIB does."""
    instance = ff.Instance(
        **fields(customers=[[1.5, 2.0], [0.0, 1.0]], rounding=rounding)
    )
    assert instance.distances[0, 1] == expected


def test_great_circle_distances_are_kilometres():
    """Berlin to Munich is 504 km as the crow flies."""
    instance = ff.Instance(
        **fields(
            depot=(52.5200, 13.4050),
            customers=[[48.1372, 11.5755], [52.5, 13.4]],
            metric="great_circle",
        )
    )
    assert instance.distances[0, 1] == pytest.approx(504.4, abs=1.0)


def test_geo_agrees_with_a_known_tsplib_distance():
    """The first two cities of TSPLIB's burma14 are 153 apart by its GEO formula."""
    instance = ff.Instance(
        **fields(
            depot=(16.47, 96.10),
            customers=[[16.47, 94.44], [20.09, 92.54]],
            metric="geo",
            rounding="round",
        )
    )
    assert instance.distances[0, 1] == 153
    assert instance.distances[0, 2] == 510


def test_an_asymmetric_matrix_is_kept_as_it_is():
    """The distances of a matrix may differ by direction."""
    matrix = [[0, 1, 2], [3, 0, 4], [5, 6, 0]]
    instance = ff.Instance(demands=[1, 1], capacity=2, vehicles=1, matrix=matrix)
    assert instance.distances.tolist() == matrix
    assert instance.metric == "explicit"
    with pytest.raises(ff.InputError, match="no coordinates"):
        _ = instance.coordinates


def test_decimal_demands_are_compared_exactly():
    """0.1 and 0.2 fill a vehicle of 0.3, though their floats sum to more."""
    instance = ff.Instance(**fields(demands=[0.1, 0.2], capacity=0.3))
    assert instance.demand_units.tolist() == [0, 1, 2]
    assert instance.capacity_units == 3
    assert instance.amount(2) == 0.2
    assert ff.Plan([[1, 2]]).is_feasible(instance)


def test_thirds_fill_a_vehicle():
    """Three demands of 10/3 fit into 10: amounts are exact to twelve digits."""
    instance = ff.Instance(
        **fields(demands=[10 / 3] * 3, capacity=10, customers=[[0, 1]] * 3)
    )
    assert ff.Plan([[1, 2, 3]]).is_feasible(instance)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("parts", "fleet"), [(3, 3), (6, 2), (7, 1), (1816, 1)])
def test_normalised_demands_fill_their_vehicles(kind, parts, fleet):
    """Nine demands of 1/3 fit into three vehicles of 1, in 32 bits and in 64."""
    count = parts * fleet
    demands = np.full(count, 1 / parts, dtype=kind)
    customers = np.zeros((count, 2))
    instance = ff.Instance(
        depot=(0, 0), customers=customers, demands=demands, capacity=1, vehicles=fleet
    )
    assert (instance.capacity_units, instance.minimum_vehicles) == (parts, fleet)
    assert instance.amount(parts) == 1
    assert instance.amount(1) == pytest.approx(1 / parts)
    assert ff.assess_fleet(instance).status == "feasible"


@given(
    st.integers(1, 2000).flatmap(
        lambda q: st.tuples(st.just(q), st.lists(st.integers(0, q), min_size=1))
    ),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([1, 1.0, 30, 0.3]),
)
@settings(max_examples=60, deadline=None)
def test_demands_that_were_divided_are_whole_again(original, kind, capacity):
    """Demands k·Q/q of a capacity Q are k of q units, whatever floats do to them."""
    parts, demands = original
    divided = (np.array(demands) * capacity / parts).astype(kind)
    digits = max(len(Decimal(str(q)).as_tuple().digits) for q in divided)
    assume(digits > (6 if kind is np.float32 else 15))  # else they are decimals
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.zeros((len(demands), 2)),
        demands=divided,
        capacity=capacity,
        vehicles=1,
    )
    for units, demand in zip(instance.demand_units[1:], demands, strict=True):
        assert int(units) * parts == demand * instance.capacity_units


def test_demands_without_a_common_unit_are_rounded():
    """Thirds among numbers of 32 bits that have no unit in common fill a vehicle."""
    demands = np.array([1 / 3, 1 / 3, 1 / 3, 0.2718281, 0.5772156], dtype=np.float32)
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.zeros((5, 2)),
        demands=demands,
        capacity=1,
        vehicles=2,
    )
    assert instance.demand_units.tolist() == [
        0, 3333333, 3333333, 3333333, 2718281, 5772156,
    ]  # fmt: skip
    assert instance.capacity_units == 10_000_000


def test_long_decimals_keep_their_digits():
    """Only numbers that 32 bits can hold are rounded to what 32 bits can tell."""
    instance = ff.Instance(**fields(demands=[0.123456789, 0.3], capacity=1))
    assert instance.demand_units.tolist() == [0, 123_456_789, 300_000_000]
    assert instance.capacity_units == 10**9


def test_small_demands_of_a_large_capacity_count():
    """Halves, which 32 bits can hold as well, are not rounded away."""
    instance = ff.Instance(**fields(demands=[0.5, 3.0], capacity=1e8 + 0.5))
    assert instance.demand_units.tolist() == [0, 5, 30]


@given(
    st.lists(st.decimals(0, 1000, places=3), min_size=1, max_size=8),
    st.decimals("0.001", 5000, places=2),
)
@settings(max_examples=60, deadline=None)
def test_units_are_the_decimals_scaled(demands, capacity):
    """The whole units are the decimal amounts times one power of ten."""
    if capacity <= 0:
        return
    instance = ff.Instance(
        depot=(0, 0),
        customers=np.zeros((len(demands), 2)),
        demands=[float(q) for q in demands],
        capacity=float(capacity),
        vehicles=1,
    )
    for units, demand in zip(instance.demand_units[1:], demands, strict=True):
        assert int(units) * capacity == demand * instance.capacity_units


def test_smallest_conceivable_fleet_is_rounded_up():
    """⌈Σq/Q⌉ is rounded up, and it is 1 if all demands are zero."""
    assert ff.Instance(**fields(capacity=2)).minimum_vehicles == 2
    assert ff.Instance(**fields(demands=[0, 0])).minimum_vehicles == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"capacity": 0}, "capacity is 0"),
        ({"capacity": float("nan")}, "capacity"),
        ({"capacity": "many"}, "capacity"),
        ({"capacity": "5"}, "capacity is '5', not a number above 0"),
        ({"demands": [1, 10**400]}, "demands: not numbers"),
        ({"vehicles": 0}, "vehicles is 0"),
        ({"vehicles": 1.5}, "vehicles is 1.5"),
        ({"vehicles": 10**20}, "below 2\\^53"),
        ({"demands": []}, "demands"),
        ({"demands": [1, -2]}, "demands\\[1\\] is -2"),
        ({"demands": [float("inf"), 2]}, "demands\\[0\\] is inf"),
        ({"demands": [1, 2, 3]}, "not \\(3, 2\\)"),
        (
            {"customers": [[0, 0], [0, float("nan")]]},
            "customers\\[1, 1\\] is nan, not a number",
        ),
        (
            {"customers": [[0, 0], [0, -1e308]]},
            "customers\\[1, 1\\] is -1e\\+308, not a number from -1e\\+300",
        ),
        ({"customers": [[0, 0], [0]]}, "without gaps"),
        ({"depot": None}, "only customers has coordinates"),
        ({"depot": None, "customers": None}, "neither coordinates nor"),
        ({"matrix": [[0, 1], [1, 0]]}, "matrix has shape \\(2, 2\\), not \\(3, 3\\)"),
        ({"matrix": [[0, 1, 1], [1, 0, -1], [1, 1, 0]]}, "matrix\\[1, 2\\] is -1"),
        ({"matrix": [[0, 1, 1], [1, 0], [1, 1, 0]]}, "without gaps"),
        ({"names": ["only one"]}, "1 names given for 2 customers"),
        ({"metric": "manhattan"}, "unknown metric 'manhattan'"),
        ({"metric": "manhattan", "matrix": np.ones((3, 3))}, "unknown metric"),
        ({"matrix": np.full((3, 3), 1e308)}, "matrix\\[0, 0\\] is 1e\\+308"),
        ({"rounding": "up"}, "unknown rounding 'up'"),
        ({"metric": "explicit"}, "needs a distance matrix"),
        ({"metric": "great_circle", "depot": (95, 0)}, "latitude 95"),
    ],
)
def test_bad_input_is_named(changes, message):
    """Whatever is wrong with an instance, the message says what and where."""
    with pytest.raises(ff.InputError, match=message):
        ff.Instance(**fields(**changes))


def test_instances_compare_by_value():
    """Two instances are equal if and only if all their fields are equal."""
    assert ff.Instance(**fields()) == ff.Instance(**fields())
    assert ff.Instance(**fields()) != ff.Instance(**fields(vehicles=2))
    assert ff.Instance(**fields()) != "an instance"


def test_arrays_of_an_instance_cannot_be_changed(square):
    """The arrays of an instance are read-only."""
    with pytest.raises(ValueError, match="read-only"):
        square.demands[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        square.coordinates[0] = 5


def test_degrees_are_geographic(square):
    """Metrics of degrees are geographic: their distances are kilometres."""
    assert not square.geographic
    assert dataclasses.replace(square, metric="great_circle").geographic
    assert dataclasses.replace(square, metric="geo").geographic


def test_customers_can_be_left_out(square):
    """Names, demands, places, distances and further columns of the others stay."""
    told = dataclasses.replace(
        square, names="abcd", demands=[1, 2, 3, 4], columns={"phone": "01234"}
    )
    rest = told.without([2, 3])
    assert rest == dataclasses.replace(
        told,
        customers=[[1, 1], [-1, 1]],
        demands=[1, 4],
        names="ad",
        columns={"phone": "014"},
    )
    bare = dataclasses.replace(told, matrix=told.distances, depot=None, customers=None)
    assert (bare.without([2, 3]).distances == rest.distances).all()
    with pytest.raises(ff.InputError, match="there is no customer 5, only 1 to 4"):
        told.without([5])
    with pytest.raises(ff.InputError, match="all customers are left out"):
        told.without([1, 2, 3, 4])


def test_great_circle_distances_in_miles():
    """Distances on the globe are kilometres, or miles; they are rounded afterwards."""
    fields = {"demands": [1], "capacity": 1, "vehicles": 1, "metric": "great_circle"}
    berlin, munich = (52.52, 13.405), (48.137, 11.575)
    far = ff.Instance(depot=berlin, customers=[munich], **fields)
    miles = dataclasses.replace(far, length_unit="mi")
    assert miles.distances[0, 1] == pytest.approx(far.distances[0, 1] / 1.609344)
    assert dataclasses.replace(miles, rounding="round").distances[0, 1] == 313
    with pytest.raises(ff.InputError, match="unknown length unit 'feet': choose from"):
        dataclasses.replace(far, length_unit="feet")


def test_a_name_for_the_unit_changes_no_distance(square):
    """Distances of a plane or a matrix stay as they are, whatever their unit."""
    named = dataclasses.replace(square, length_unit="mi")
    assert (named.distances == square.distances).all()


def test_further_columns_have_a_text_per_location(square):
    """A column of the customers' table has a text for the depot and each customer."""
    told = dataclasses.replace(square, columns={"phone": ["", 1, 2, 3, 4]})
    assert told.columns == {"phone": ("", "1", "2", "3", "4")}
    with pytest.raises(ff.InputError, match="4 texts for 5 locations"):
        dataclasses.replace(square, columns={"phone": "abcd"})
