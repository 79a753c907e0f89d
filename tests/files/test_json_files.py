"""JSON instances and plans."""

from __future__ import annotations

import json
import math

import pytest

from fixedfleet import InputError, Plan
from fixedfleet.files import ReadOptions, read_file, read_plan, write_plan

TOY = {
    "name": "toy",
    "vehicles": 2,
    "capacity": 5,
    "depot": [0, 0],
    "customers": [[3, 4], [6, 8]],
    "demands": [1, 2.5],
}


@pytest.fixture
def load(tmp_path):
    """Return a reader of an object, or of text, as a JSON file, with notes."""

    def load(data, **options):
        path = tmp_path / "toy.json"
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        reading = read_file(path, ReadOptions(**options))
        return reading.instance, reading.notes

    return load


def test_a_plain_object(load):
    """An object with the fields of an instance is that instance, not rounded."""
    instance, notes = load(TOY)
    assert instance.distances[0].tolist() == [0, 5, 10]
    assert instance.demands.tolist() == [1, 2.5]
    assert notes == [
        "distances not rounded",
        "fleet of 2 vehicles taken from the key 'vehicles'",
    ]


def test_the_caller_wins(load):
    """Fleet, capacity and rounding of the caller win, and the difference is told."""
    instance, notes = load(TOY, vehicles=3, capacity=9, rounding="ceil")
    assert (instance.vehicles, instance.capacity, instance.rounding) == (3, 9, "ceil")
    assert "capacity 9, as asked for; the file says 5" in notes
    assert "distances rounded up to whole numbers (as asked for)" in notes


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"capacity": 0}, "capacity (the key 'capacity') is 0, not a number above 0"),
        ({"capacity": "5"}, "capacity (the key 'capacity') is '5', not a number"),
        ({"vehicles": 0}, "vehicles (the key 'vehicles') is 0, not a number above 0"),
        ({"vehicles": 1.5}, "vehicles is 1.5, not a whole number"),
        ({"vehicles": None}, "the file does not say how many vehicles there are"),
        ({"demands": None}, "no key 'demands'"),
        ({"demands": [1, -1]}, "demands[1] is -1, not a number of at least 0"),
        ({"demands": [1, True]}, "demands[1] is True, not a finite number"),
        ({"demands": [1, 10**400]}, "demands[1] is 1000"),
        ({"demands": [1]}, "customers has shape (2, 2), not (1, 2)"),
        ({"customers": [[1, 2], [3]]}, "customers[1] has 1 numbers, customers[0]"),
        ({"customers": [[1, "x"], [3, 4]]}, "customers[0][1] is 'x', not a finite"),
        ({"matrix": [[0, 1, 2], [1, 0], [2, 3, 0]]}, "matrix[1] has 2 numbers"),
        ({"matrix": [[0, -1, 1], [1, 0, 1], [1, 1, 0]]}, "matrix[0, 1] is -1, not"),
        ({"names": ["a", 7]}, "names[1] is 7, not a text"),
        ({"names": ["a", "\ud800"]}, "names[1] is '\\ud800', with half a character"),
        ({"metric": "manhattan"}, "unknown metric 'manhattan'"),
        ({"length_unit": "yd"}, "unknown length unit 'yd': choose from"),
        ({"unit": 7}, "unit is 7, not a text"),
        ({"columns": ["a"]}, "columns is ['a'], not an object"),
        ({"columns": {"phone": ["a", 1, "b"]}}, "columns['phone'][1] is 1, not a text"),
        ({"columns": {"phone": ["a"]}}, "column 'phone' has 1 texts for 3 locations"),
        ({"metric": "geo", "matrix": [[0] * 3] * 3}, "'metric' is 'geo', but"),
        ({"fleet": 3}, "unknown key 'fleet', not one of depot, customers"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(load, changes, said):
    """Each fault of an object is told with its key and index."""
    with pytest.raises(InputError) as caught:
        load(TOY | changes)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "the file is [1], not an object {…}"),
        ('{"vehicles" 2}', "not JSON: line 1, column 13"),
        ('{"capacity": NaN}', "NaN in the file, not a finite number"),
        (
            '{"capacity": 1e999, "vehicles": 1, "demands": [1]}',
            "capacity (the key 'capacity') is inf, not a number",
        ),
        ('{"capacity": 1, "capacity": 2}', "key 'capacity' twice in one object"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_text_that_is_no_object(load, text, said):
    """Text that is not a JSON object is refused with the place."""
    with pytest.raises(InputError) as caught:
        load(text)
    assert said in str(caught.value)


DAY = TOY | {
    "vehicle_types": [{"capacity": 5, "count": 2, "shift": ["08:00", 900]}],
    "vehicles": None,
    "capacity": None,
    "speed": 1,
    "time_unit": "min",
    "windows": [["8:30", None], None],
}


def test_times_of_a_day_are_numbers_or_texts(load):
    """A text is a time of day; null is an open end, or an open window."""
    instance, _ = load(DAY)
    assert instance.windows.tolist() == [[510, math.inf], [0, math.inf]]
    assert [one.shift for one in instance.fleet] == [(480, 900)]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("windows", [[510], None], "windows[0] is [510], not [from, to]"),
        ("windows", [[1, 2, 3], None], "windows[0] is [1, 2, 3], not [from, to]"),
        ("windows", [None, ["soon", 9]], "windows[1][0] is 'soon', not a time of day"),
        ("windows", [[True, 9], None], "windows[0][0] is True, not a finite number"),
        ("windows", 7, "windows is 7, not an array"),
        ("shift", None, None),
        ("shift", [None, 900], "vehicle_types[0].shift is [None, 900], not [from, to]"),
        ("shift", [480, None], "vehicle_types[0].shift is [480, None], not [from, to]"),
        ("shift", [900, 480], "vehicle_types[0]: shift of"),
        ("capacity", None, "vehicle_types[0]: no key 'capacity'"),
        ("wheels", 4, "vehicle_types[0]: unknown key 'wheels', not one of"),
        ("name", 7, "vehicle_types[0].name is 7, not a text"),
    ],
)
def test_what_is_wrong_with_a_day_is_said_with_its_place(load, key, value, said):
    """The message has the key of the window or of the vehicle type."""
    changes = {key: value}
    if key != "windows":
        changes = {"vehicle_types": [DAY["vehicle_types"][0] | {key: value}]}
    if said is None:
        assert load(DAY | changes)[0].fleet[0].shift is None
        return
    with pytest.raises(InputError) as caught:
        load(DAY | changes)
    assert f": {said}" in str(caught.value)


def test_only_halves_of_characters_are_refused(load):
    """The characters beside them in Unicode are texts like others."""
    names = ["\ud7ff", "\ue000"]
    assert load(TOY | {"names": names})[0].names == tuple(names)
    for half in ("\ud800", "\udfff"):
        with pytest.raises(InputError, match=r"names\[0\] is .*half a character"):
            load(TOY | {"names": [half, "b"]})


def test_vehicle_types_that_only_some_tours_state_are_not_used(tmp_path):
    """A plan has the types of all its tours, or of none."""
    path = tmp_path / "plan.json"
    first, second = '{"customers": [1], "vehicle_type": 1}', '{"customers": [2]}'
    for tours, types in (
        (f"[{first}, [2]]", None),
        (f"[{first}, {second}]", None),
        (f"[{first}]", (1,)),
    ):
        path.write_text(f'{{"tours": {tours}}}')
        assert read_plan(path).vehicle_types == types


def test_the_depot_is_in_the_file(load):
    """A depot given beside a JSON file is refused, for the file has its own."""
    with pytest.raises(InputError, match="leave depot= out"):
        load(TOY, depot="x")


def test_a_plan_says_all_about_itself(load, tmp_path):
    """A plan's file holds names, loads, lengths, total, fleet, capacity, rounding."""
    told = {"unit": "kg", "length_unit": "km", "columns": {"phone": ["", "11", "22"]}}
    instance, _ = load(TOY | told | {"names": ["Ada", "Bob"]}, rounding="round")
    write_plan(Plan([[2], [1]]), instance, tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text()) == {
        "instance": "toy",
        "vehicles": 2,
        "vehicles_used": 2,
        "capacity": 5,
        "unit": "kg",
        "metric": "euclidean",
        "rounding": "round",
        "detour": 1.0,
        "length_unit": "km",
        "length": 30,
        "cost": 30,
        "faults": [],
        "unserved": [],
        "unserved_names": [],
        "tours": [
            {
                "customers": [2],
                "names": ["Bob"],
                "load": 2.5,
                "length": 20,
                "columns": {"phone": ["22"]},
                "vehicle_type": None,
                "cost": 20,
                "times": None,
            },
            {
                "customers": [1],
                "names": ["Ada"],
                "load": 1,
                "length": 10,
                "columns": {"phone": ["11"]},
                "vehicle_type": None,
                "cost": 10,
                "times": None,
            },
        ],
    }


def test_a_plan_with_faults_says_so(load, tmp_path):
    """The file of a plan that leaves a customer out names the fault."""
    instance, _ = load(TOY)
    write_plan(Plan([[2]]), instance, tmp_path / "plan.json")
    written = json.loads((tmp_path / "plan.json").read_text())
    assert written["faults"] == ["customer 1 missing"]
    assert (written["unserved"], written["unserved_names"]) == ([1], ["1"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "no key 'tours'"),
        ('{"tours": [{}]}', "tours[0] has no key 'customers'"),
        ('{"tours": [[1], [0]]}', "tours[1][0] is 0, not a customer's number from 1"),
        ('{"tours": [[1.0]]}', "tours[0][0] is 1.0, not a customer's number from 1"),
    ],
)
def test_a_plan_that_is_wrong(tmp_path, text, said):
    """Each fault of a plan's object is told with its place."""
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError) as caught:
        read_plan(tmp_path / "plan.json")
    assert said in str(caught.value)
