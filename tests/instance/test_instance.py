"""Tests of Instance."""

from __future__ import annotations

import dataclasses
import pickle
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
        ({"demands": [1, 10**400]}, "demands must be a rectangular array of numbers"),
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
        ({"customers": [[0, 0], [0]]}, "rectangular array"),
        ({"depot": None}, "only customers has coordinates"),
        ({"depot": None, "customers": None}, "neither coordinates nor"),
        ({"matrix": [[0, 1], [1, 0]]}, "matrix has shape \\(2, 2\\), not \\(3, 3\\)"),
        ({"matrix": [[0, 1, 1], [1, 0, -1], [1, 1, 0]]}, "matrix\\[1, 2\\] is -1"),
        (
            {"matrix": [[0, 1, 1], [1, 0], [1, 1, 0]]},
            "must be a rectangular array of numbers",
        ),
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


# ------------------------------------------------------- vehicle types, times, priority

VANS = (
    ff.VehicleType(name="small", count=2, capacity=3),
    ff.VehicleType(name="large", count=1, capacity=5, fixed_cost=10),
)


def day(**changes):
    """A small instance with a mixed fleet, times and priorities, with changes."""
    return ff.Instance(
        **fields(capacity=None, vehicles=None)
        | {
            "vehicle_types": VANS,
            "speed": 0.5,
            "service_times": [1, 2],
            "windows": [(0, 20), None],
            "priorities": [1, 0],
        }
        | changes
    )


def test_number_and_capacity_follow_from_the_vehicle_types():
    """The fleet has the sum of the counts, and the capacity of its largest vehicle."""
    instance = day()
    assert (instance.vehicles, instance.capacity) == (3, 5)
    assert instance.type_capacity_units == (3, 5)
    assert instance.fleet == VANS


def test_without_vehicle_types_the_fleet_is_one_type():
    """Number and capacity are the shorthand for one type without a name."""
    instance = ff.Instance(**fields())
    assert instance.fleet == (ff.VehicleType(count=1, capacity=3),)
    assert instance.vehicle_types is None


@pytest.mark.parametrize("given", [{"vehicles": 4}, {"capacity": 6}])
def test_vehicle_types_that_disagree_with_number_or_capacity_are_refused(given):
    """Both may be given only if they say the same."""
    assert day(vehicles=3, capacity=5) == day()
    with pytest.raises(ff.InputError, match="but the vehicle types give"):
        day(**given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vehicle_types": []}, "vehicle_types is empty"),
        ({"vehicle_types": [3]}, r"vehicle_types\[0\] is a int"),
        ({"vehicle_types": None}, "no fleet"),
        ({"speed": 0}, "speed is 0"),
        ({"time_matrix": np.ones((3, 3))}, "both speed and time_matrix"),
        ({"speed": None}, "windows are given, but no travel times"),
        ({"speed": None, "windows": None}, "service times are given, but no travel"),
        ({"time_matrix": np.ones((2, 2)), "speed": None}, "time_matrix has shape"),
        ({"service_times": [1, -1]}, r"service_times\[1\] is -1"),
        ({"windows": [(0, 20)]}, "windows has shape"),
        ({"windows": [(0, 20), (9, 8)]}, "window of customer 2 ends at 8, before its"),
        ({"windows": [3, 4]}, "windows must have"),
        ({"windows": [(0, "x"), None]}, "windows must be"),
        ({"priorities": [1]}, "priorities has shape"),
        ({"time_unit": "h"}, "unknown time unit 'h'"),
    ],
)
def test_a_wrong_fleet_or_time_is_refused(wrong, message):
    """What is wrong is said."""
    with pytest.raises(ff.InputError, match=message):
        day(**wrong)


def test_a_shift_needs_travel_times():
    """A shift alone would bound nothing, so it is not taken in silence."""
    shift = ff.VehicleType(capacity=5, shift=(0, 480))
    with pytest.raises(ff.InputError, match="shifts are given, but no travel times"):
        ff.Instance(**fields(capacity=None, vehicles=None, vehicle_types=[shift]))


def test_what_an_instance_needs_can_be_asked():
    """Names alone leave an instance plain; costs, sizes, windows and shifts do not."""
    two = [ff.VehicleType(name=name, capacity=3) for name in ("Anna", "Bert")]
    plain = {"speed": 1, "service_times": None, "windows": None}
    named = day(vehicle_types=two, **plain)
    assert named.is_plain and not named.has_mixed_fleet and not named.is_timed
    assert day(**plain).has_mixed_fleet and not day(**plain).is_timed
    cost = [ff.VehicleType(capacity=3, cost_per_distance=2)]
    assert day(vehicle_types=cost, **plain).has_mixed_fleet
    shift = [ff.VehicleType(capacity=3, shift=(0, 9))]
    timed = day(vehicle_types=shift, **plain)
    assert timed.is_timed and not timed.has_mixed_fleet and not timed.is_plain
    assert day(vehicle_types=two).is_timed


def test_what_cannot_handle_a_day_says_so():
    """The sentence names what is refused, and why."""
    with pytest.raises(ff.InputError, match="HGS cannot handle vehicles of several "):
        day().require_plain("HGS")
    with pytest.raises(ff.InputError, match="cannot handle windows or shifts, which"):
        day(vehicle_types=VANS[:1]).require_plain("HGS")
    ff.Instance(**fields()).require_plain("HGS")
    with pytest.raises(ff.InputError, match="a batch of instances cannot handle"):
        ff.InstanceBatch.of([day()])


def test_travel_times_follow_from_the_speed_or_the_matrix():
    """A distance of 5 at a speed of 0.5 takes 10; a matrix is taken as it is."""
    assert day().travel_times[0, 1] == 10
    assert day().time_between([0], [2]).tolist() == [20]
    matrix = np.arange(9).reshape(3, 3)
    given = day(speed=None, time_matrix=matrix)
    assert given.travel_times[2, 1] == 7
    assert given.travel_times[1, 1] == 0
    with pytest.raises(ff.InputError, match="travel times are not known"):
        _ = ff.Instance(**fields()).travel_times


def test_open_windows_reach_from_zero_to_infinity():
    """None stands for a window, or an end of it, that is open."""
    windows = day(windows=[(None, 20), (5, None)]).windows
    assert windows.tolist() == [[0, 20], [5, np.inf]]
    assert day(windows=windows).windows.tolist() == windows.tolist()
    assert day().windows.tolist() == [[0, 20], [0, np.inf]]


def test_minutes_are_written_as_a_clock_shows_them():
    """Without a unit, a time is a number."""
    assert day(time_unit="min").clock(510.4) == "08:30"
    assert day(time_unit="min").clock(1445) == "24:05"
    assert day().clock(510.25) == "510.25"


def test_a_day_is_equal_to_its_copy_and_keeps_all_with_fewer_customers():
    """Pickling changes nothing, and a part of the customers keeps what is theirs."""
    instance = day(speed=None, time_matrix=np.arange(9).reshape(3, 3))
    assert pickle.loads(pickle.dumps(instance)) == instance
    assert instance != day()
    assert instance != dataclasses.replace(instance, priorities=None)
    assert instance != dataclasses.replace(instance, windows=None)
    some = instance.without([1])
    assert some.vehicle_types == VANS
    assert some.service_times.tolist() == [2]
    assert some.windows.tolist() == [[0, np.inf]]
    assert some.priorities.tolist() == [0]
    assert some.time_matrix.tolist() == [[0, 2], [6, 8]]


def test_the_number_of_vehicles_alone_does_not_change_a_mixed_fleet():
    """It must be said which vehicles there are; the same number changes nothing."""
    instance = day()
    assert instance.with_vehicles(3) == instance
    with pytest.raises(ff.InputError, match="say which vehicles there are"):
        instance.with_vehicles(2)
    fewer = instance.with_vehicle_types(VANS[:1])
    assert (fewer.vehicles, fewer.capacity) == (2, 3)


def test_vehicles_that_are_alike_are_added_and_removed_at_the_end():
    """If all types are of one kind, the last of them change their number."""
    types = [ff.VehicleType(name=name, capacity=3) for name in ("Anna", "Bert")]
    instance = ff.Instance(**fields(capacity=3, vehicles=2, vehicle_types=types))
    assert instance.with_vehicles(1).fleet == (types[0],)
    more = instance.with_vehicles(4)
    assert [one.count for one in more.fleet] == [1, 3]


def test_capacities_are_compared_in_the_unit_of_the_demands():
    """Decimal capacities of all types are whole numbers of one unit."""
    types = [ff.VehicleType(capacity=c) for c in (0.3, 1.05, 2)]
    instance = ff.Instance(
        **fields(demands=[0.1, 0.2], capacity=None, vehicles=None, vehicle_types=types)
    )
    assert instance.type_capacity_units == (3, 10, 20)
    assert ff.Plan([[1, 2]], [0]).check(instance) == []
