"""VRPLIB instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fixedfleet import InputError, Instance, VehicleType
from fixedfleet.files import (
    ReadOptions,
    parse,
    read,
    read_file,
    read_plan,
    read_solution_cost,
    write_instance,
)
from fixedfleet.files.vrplib_files import format_instance

HEAD = "NAME : toy-k2\nTYPE : CVRP\nDIMENSION : 4\nCAPACITY : 10\n"
COORDINATES = "NODE_COORD_SECTION\n1 0 0\n2 3 4\n3 6 8\n4 0 1.4\n"
DEMANDS = "DEMAND_SECTION\n1 0\n2 1\n3 2\n4 3\n"
DEPOT = "DEPOT_SECTION\n1\n-1\nEOF\n"
EUCLIDEAN = HEAD + "EDGE_WEIGHT_TYPE : EUC_2D\n" + COORDINATES + DEMANDS + DEPOT


@pytest.fixture
def load(tmp_path):
    """Return a reader of text as a VRPLIB file, with notes."""

    def load(text, **options):
        path = tmp_path / "toy.vrp"
        path.write_text(text, encoding="utf-8")
        reading = read_file(path, ReadOptions(**options))
        return reading.instance, reading.notes

    return load


def test_a_file_for_any_program(load, square):
    """The fleet is stated in a comment, which every reader takes; it is read back."""
    text = format_instance(replace(square, name="four", rounding="round"), plain=True)
    assert text.startswith("NAME : four\nCOMMENT : No of vehicles: 2\nTYPE : CVRP\n")
    assert "VEHICLES :" not in text
    assert load(text)[0].vehicles == 2
    text = format_instance(square, plain=True)
    assert "COMMENT : No of vehicles: 2, rounding: none\n" in text


def test_a_plain_file(load):
    """Coordinates, demands, capacity and the name's fleet arrive; distances round."""
    instance, notes = load(EUCLIDEAN)
    assert instance == Instance(
        name="toy-k2",
        depot=(0, 0),
        customers=[[3, 4], [6, 8], [0, 1.4]],
        demands=[1, 2, 3],
        capacity=10,
        vehicles=2,
        rounding="round",
    )
    assert instance.distances[0].tolist() == [0, 5, 10, 1]
    assert notes == [
        "distances rounded to the nearest whole number (CVRPLIB's convention)",
        "fleet of 2 vehicles taken from the name toy-k2",
    ]


def test_windows_line_ends_blank_lines_and_a_mark_of_order_make_no_difference(load):
    """A file from Windows reads like any other."""
    text = "\ufeff" + EUCLIDEAN.replace("\n", "\r\n\r\n")
    assert load(text)[0] == load(EUCLIDEAN)[0]


def test_a_name_with_the_letters_eof_does_not_end_the_file(load):
    """A header that holds EOF or _SECTION is a header."""
    text = EUCLIDEAN.replace("toy-k2", "GEOFF_SECTION-k2")
    assert load(text)[0].name == "GEOFF_SECTION-k2"


def test_an_old_comment_in_latin_1_does_not_matter(tmp_path):
    """A comment that is not UTF-8 does not keep a file from loading."""
    path = tmp_path / "toy.vrp"
    path.write_bytes(b"COMMENT : Sch\xf6n\n" + EUCLIDEAN.encode())
    assert read(path).num_customers == 3


@pytest.mark.parametrize(
    ("text", "vehicles", "fleet", "note"),
    [
        (EUCLIDEAN, 7, 7, "fleet of 7 vehicles, as asked for"),
        (
            "VEHICLES : 3\n" + EUCLIDEAN,
            None,
            3,
            "fleet of 3 vehicles taken from VEHICLES (line 1)",
        ),
        (
            EUCLIDEAN.replace("toy-k2", "toy\nCOMMENT : (Min no of trucks: 5, …)"),
            None,
            5,
            "fleet of 5 vehicles taken from the comment 'no of trucks: 5'",
        ),
    ],
)
def test_where_the_fleet_comes_from(load, text, vehicles, fleet, note):
    """The fleet is the caller's, else VEHICLES', the name's or the comment's."""
    instance, notes = load(text, vehicles=vehicles)
    assert instance.vehicles == fleet
    assert note in notes


def test_no_fleet_is_asked_for(wrong):
    """A file without a fleet is refused with the way out."""
    text = wrong(EUCLIDEAN.replace("toy-k2", "toy"))
    assert "how many vehicles" in text and "vehicles=" in text


@pytest.mark.parametrize(
    ("kind", "rounding", "expected"),
    [
        ("EUC_2D", None, "round"),
        ("CEIL_2D", None, "ceil"),
        ("FLOOR_2D", None, "trunc"),
        ("GEO", None, "round"),
        ("EUC_2D", "none", "none"),
        ("CEIL_2D", "round", "round"),
    ],
)
def test_rounding_is_the_types_unless_the_caller_says_otherwise(
    load, kind, rounding, expected
):
    """Each type of distance has its rounding, and the caller's wins."""
    text = EUCLIDEAN.replace("EUC_2D", kind)
    instance, _ = load(text, rounding=rounding)
    assert instance.rounding == expected
    assert instance.metric == ("geo" if kind == "GEO" else "euclidean")


MATRIX = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]])


@pytest.mark.parametrize(
    ("layout", "values"),
    [
        ("FULL_MATRIX", MATRIX.ravel()),
        ("LOWER_ROW", [1, 2, 4, 3, 5, 6]),
        ("UPPER_ROW", [1, 2, 3, 4, 5, 6]),
        ("LOWER_COL", [1, 2, 3, 4, 5, 6]),
        ("UPPER_COL", [1, 2, 4, 3, 5, 6]),
        ("LOWER_DIAG_ROW", [0, 1, 0, 2, 4, 0, 3, 5, 6, 0]),
        ("UPPER_DIAG_ROW", [0, 1, 2, 3, 0, 4, 5, 0, 6, 0]),
        ("LOWER_DIAG_COL", [0, 1, 2, 3, 0, 4, 5, 0, 6, 0]),
        ("UPPER_DIAG_COL", [0, 1, 0, 2, 4, 0, 3, 5, 6, 0]),
    ],
)
def test_explicit_distances_in_every_layout(load, layout, values):
    """A matrix reads the same from each of TSPLIB's layouts, wrapped at will."""
    lines = "\n".join(" ".join(map(str, values[i : i + 3])) for i in range(0, 16, 3))
    text = (
        f"{HEAD}EDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : {layout}\n"
        f"EDGE_WEIGHT_SECTION\n{lines}\n{DEMANDS}{DEPOT}"
    )
    instance, _ = load(text)
    assert instance.matrix.tolist() == MATRIX.tolist()
    assert (instance.metric, instance.rounding) == ("explicit", "none")
    assert not instance.has_coordinates


def test_a_depot_that_is_not_node_1(load):
    """Customers keep their nodes' numbers as names if the depot is another node."""
    text = EUCLIDEAN.replace("3 2\n", "3 0\n").replace(
        "DEPOT_SECTION\n1", "DEPOT_SECTION\n3"
    )
    instance, _ = load(text)
    assert instance.depot.tolist() == [6, 8]
    assert instance.names == ("1", "2", "4")
    assert instance.depot_name == "3"
    assert instance.demands.tolist() == [0, 1, 3]


def test_the_caller_names_the_depot(load):
    """The caller's depot wins over DEPOT_SECTION."""
    text = EUCLIDEAN.replace("3 2\n", "3 0\n")
    assert load(text, depot=3)[0].depot.tolist() == [6, 8]


def test_the_matrix_follows_a_depot_that_is_not_node_1(load):
    """Rows and columns of a matrix move with the depot."""
    rows = "\n".join(" ".join(map(str, row)) for row in MATRIX)
    text = (
        f"{HEAD}EDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX\n"
        f"EDGE_WEIGHT_SECTION\n{rows}\nDEMAND_SECTION\n1 1\n2 0\n3 2\n4 3\n"
        "DEPOT_SECTION\n2\n-1\nEOF\n"
    )
    instance, _ = load(text)
    assert instance.distances[0].tolist() == [0, 1, 4, 5]
    assert instance.distances[1].tolist() == [1, 0, 2, 3]


def test_rows_out_of_order_are_put_in_order(load):
    """Nodes 1 … n are told by their numbers, not by their place in the file."""
    shuffled = "NODE_COORD_SECTION\n4 0 1.4\n2 3 4\n1 0 0\n3 6 8\n"
    text = EUCLIDEAN.replace(COORDINATES, shuffled)
    assert load(text)[0] == load(EUCLIDEAN)[0]


def test_other_numbers_of_nodes_are_kept_as_names(load):
    """Nodes 10, 20, … become customers of that name, demands matched by number."""
    text = (
        HEAD + "EDGE_WEIGHT_TYPE : EUC_2D\n"
        "NODE_COORD_SECTION\n30 3 3\n10 1 1\n20 2 2\n40 4 4\n"
        "DEMAND_SECTION\n20 2\n30 3\n40 4\nDEPOT_SECTION\n10\n-1\nEOF\n"
    )
    instance, _ = load(text)
    assert instance.names == ("30", "20", "40")
    assert instance.demands.tolist() == [3, 2, 4]
    assert instance.customers[:, 0].tolist() == [3, 2, 4]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("2 3 4", "2 nan 4", "line 8: x of node 2 is 'nan', not a finite number"),
        ("2 3 4", "2 3 1e999", "line 8: y of node 2 is '1e999', not a finite number"),
        ("2 3 4", "2 3", "line 8: 2 values in NODE_COORD_SECTION, not 3"),
        ("2 3 4", "1 3 4", "line 8: a second node 1, the first is on line 7"),
        ("\n4 3\n", "\n4 -3\n", "line 15: demand of node 4 is -3, not at least 0"),
        ("\n4 3\n", "\n", "line 11: DEMAND_SECTION has no node 4"),
        ("\n4 3\n", "\n5 3\n", "line 15: a demand for node 5, not listed"),
        ("\n1 0\n", "\n1 7\n", "line 12: demand of node 1 is 7, but this is the depot"),
        ("CAPACITY : 10", "CAPACITY : 0", "capacity (line 4) is 0.0, not a number"),
        ("CAPACITY : 10", "CAPACITY : ten", "line 4: CAPACITY is 'ten', not a finite"),
        ("CAPACITY : 10\n", "", "the file does not say what a vehicle carries"),
        ("toy-k2", "toy-k0", "vehicles (the name toy-k0) is 0, not a number above 0"),
        ("DIMENSION : 4", "DIMENSION : 10000000", "line 3: DIMENSION is 10000000, but"),
        (
            DEMANDS,
            DEMANDS * 2,
            "line 16: a second DEMAND_SECTION, the first is on line 11",
        ),
        ("TYPE : CVRP", "TYPE : CVRP\nTYPE : CVRP", "line 3: a second TYPE"),
        ("TYPE : CVRP", "TYPE : TSP", "line 2: TYPE is 'TSP', not one of CVRP"),
        (
            "TYPE : CVRP",
            "DISTANCE : 200",
            "line 2: DISTANCE limits the length of tours to 200",
        ),
        ("EUC_2D", "EUC_3D", "line 5: EDGE_WEIGHT_TYPE is 'EUC_3D', not one of"),
        ("EUC_2D", "EXPLICIT", "EDGE_WEIGHT_TYPE is EXPLICIT, and there is no"),
        (DEMANDS, "", "no DEMAND_SECTION"),
        (COORDINATES, "", "no NODE_COORD_SECTION, which EUC_2D distances need"),
        ("\n1\n-1", "\n1\n2\n-1", "line 16: DEPOT_SECTION lists 2 depots, not one"),
        ("\n1\n-1", "\n9\n-1", "line 16: DEPOT_SECTION is 9, which is not a node"),
        ("DEPOT_SECTION\n1\n-1\n", "", "no DEPOT_SECTION: add one, or give depot="),
        ("EOF", "RELEASE_TIME_SECTION\n1 0\nEOF", "line 19: RELEASE_TIME_SECTION is"),
        ("EOF", "TIME_WINDOW_SECTION\n1 0 9\nEOF", "line 19: TIME_WINDOW_SECTION has"),
        ("NAME", "hello\nNAME", "line 1: 'hello' is neither 'KEYWORD : value' nor"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(wrong, old, new, said):
    """Each fault of a file is told with its line or section."""
    assert old in EUCLIDEAN
    assert wrong(EUCLIDEAN.replace(old, new, 1)).startswith(said)


def test_a_ragged_matrix(wrong):
    """A matrix with too few distances is refused with the count that is right."""
    text = (
        HEAD + "EDGE_WEIGHT_TYPE : EXPLICIT\nEDGE_WEIGHT_FORMAT : FULL_MATRIX\n"
        "EDGE_WEIGHT_SECTION\n0 1 2 3\n1 0 2\n" + DEMANDS + DEPOT
    )
    assert wrong(text) == (
        "line 7: EDGE_WEIGHT_SECTION holds 7 distances, not 16 (FULL_MATRIX of 4 nodes)"
    )


def test_a_demand_above_the_capacity_is_read(load):
    """A customer too big for a vehicle is no fault of the file."""
    assert load(EUCLIDEAN.replace("\n4 3\n", "\n4 30\n"))[0].demands.max() == 30


@pytest.mark.parametrize("limit", ["0", "999999"])
def test_a_limit_on_tours_that_is_none(load, limit):
    """A length of tours that bounds nothing is read, and one is told."""
    notes = load(f"DISTANCE : {limit}\n" + EUCLIDEAN)[1]
    assert f"DISTANCE {limit} read as no limit on the length of tours" in notes


def test_headers_without_meaning_here_are_said_to_be_ignored(load):
    """A header nobody knows is passed over, and one is told."""
    assert "headers ignored: AUTHOR" in load("AUTHOR : me\n" + EUCLIDEAN)[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"metric": "great_circle"}, "VRPLIB has no distances between latitudes"),
        ({"names": ["a", "b", "c"]}, "VRPLIB cannot hold the names of depot and"),
        ({"depot_name": "Hub"}, "VRPLIB cannot hold the names of depot and"),
        ({"unit": "kg"}, "VRPLIB cannot hold units or further columns"),
        ({"columns": {"a": "0123"}}, "VRPLIB cannot hold units or further columns"),
        ({"name": "two\nlines"}, "VRPLIB cannot hold the name 'two\\nlines'"),
    ],
)
def test_what_vrplib_cannot_hold_is_refused(load, tmp_path, changes, said):
    """Nothing of an instance is dropped without a word, and no file is left."""
    instance = replace(load(EUCLIDEAN)[0], **changes)
    with pytest.raises(InputError, match=r"out\.vrp: ") as caught:
        write_instance(instance, tmp_path / "out.vrp")
    assert said in str(caught.value)
    assert not (tmp_path / "out.vrp").exists()


# ------------------------------------------------ vehicles and times, as PyVRP has them

DAY = """NAME : day
TYPE : VRPTW
DIMENSION : 3
VEHICLES : 3
EDGE_WEIGHT_TYPE : EUC_2D
SERVICE_TIME : 10
NODE_COORD_SECTION
1 0 0
2 3 4
3 6 8
DEMAND_SECTION
1 0
2 5
3 6
CAPACITY_SECTION
1 6
2 6
3 12
VEHICLES_FIXED_COST_SECTION
1 0
2 0
3 40
VEHICLES_UNIT_DISTANCE_COST_SECTION
1 2
2 2
3 3
TIME_WINDOW_SECTION
1 0 100
2 20 30
3 0 99
DEPOT_SECTION
1
EOF
"""


def test_vehicles_and_times_are_read_and_written(tmp_path):
    """Vehicles that are alike are one type, and the depot's window is their shift."""
    instance = parse(DAY).instance
    assert instance.fleet == (
        VehicleType(count=2, capacity=6, cost_per_distance=2, shift=(0, 100)),
        VehicleType(capacity=12, fixed_cost=40, cost_per_distance=3, shift=(0, 100)),
    )
    assert instance.speed == 1
    assert instance.service_times.tolist() == [10, 10]
    assert instance.windows.tolist() == [[20, 30], [0, 99]]
    write_instance(instance, tmp_path / "day.vrp")
    assert read(tmp_path / "day.vrp") == instance


def test_windows_with_one_capacity_are_read_and_written(tmp_path):
    """The vehicles stay alike, with a shift."""
    start, end = DAY.index("CAPACITY_SECTION"), DAY.index("TIME_WINDOW")
    text = DAY[:start] + DAY[end:]
    text = text.replace("VEHICLES : 3", "VEHICLES : 3\nCAPACITY : 12")
    instance = parse(text).instance
    assert instance.fleet == (VehicleType(count=3, capacity=12, shift=(0, 100)),)
    assert not instance.has_mixed_fleet
    write_instance(instance, tmp_path / "day.vrp")
    assert read(tmp_path / "day.vrp") == instance
    more = parse(text, ReadOptions(vehicles=5)).instance
    assert more.vehicles == 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"vehicles": 5}, "vehicles="),
        ({"capacity": 9}, "capacity="),
        ({"vehicles": 5, "capacity": 9}, "vehicles= and capacity="),
    ],
)
def test_a_fleet_beside_the_vehicles_of_the_file_is_refused(options, said):
    """All options that must be left out are named at once."""
    with pytest.raises(InputError, match=f"carries or costs: leave {said} out$"):
        parse(DAY, ReadOptions(**options))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3 12\n", "", "line 15: CAPACITY_SECTION lists 2 vehicles, not 1 to 3"),
        ("3 12\n", "4 12\n", "line 15: CAPACITY_SECTION lists 3 vehicles, not 1 to"),
        ("TYPE", "CAPACITY : 6\nTYPE", "give either the header CAPACITY"),
        ("3 0 99\n", "", "line 27: TIME_WINDOW_SECTION has no node 3"),
        ("3 0 99\n", "3 0 99\n4 0 9\n", "line 27: TIME_WINDOW_SECTION has an unknown"),
        ("3 0 99\n", "3 99 0\n", "the window of customer 2 ends at 0, before"),
        ("1 0 100", "1 100 0", "shift of the vehicle type ends at 0"),
    ],
)
def test_wrong_vehicles_and_times_are_said(old, new, said):
    """Nothing is guessed."""
    assert old in DAY
    with pytest.raises(InputError) as caught:
        parse(DAY.replace(old, new, 1))
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    "changes",
    [
        {"priorities": [1, 2]},
        {"time_unit": "min"},
        {"speed": 2},
        {"windows": None},
    ],
)
def test_what_vrplib_cannot_hold_of_a_day_is_refused(changes, tmp_path):
    """A file that lost it would be another problem."""
    instance = replace(parse(DAY).instance, **changes)
    with pytest.raises(InputError, match=r"VRPLIB cannot hold .*: write \.json"):
        write_instance(instance, tmp_path / "day.vrp")


def test_dimacs_rounds_down_to_one_decimal():
    """The convention of the DIMACS challenge for time windows."""
    text = DAY.replace("2 3 4", "2 1 1")
    instance = parse(text, ReadOptions(rounding="dimacs")).instance
    assert instance.distances[0, 1] == 1.4
    assert instance.has_coordinates


@pytest.mark.parametrize("name", ["HFVRP/X115-HVRP", "VRPTW/R1_10_4"])
def test_best_known_plans_of_pyvrps_collection_are_feasible(shared, name):
    """Instances and plans of others are read as they are meant."""
    path = shared / "pyvrp" / f"{name}.vrp"
    timed = "VRPTW" in name
    instance = read(path, rounding="dimacs" if timed else "none")
    plan = read_plan(path.with_suffix(".sol"), instance)
    assert plan.check(instance) == []
    stated = read_solution_cost(path.with_suffix(".sol"))
    assert plan.cost(instance) == pytest.approx(stated * (1 if timed else 100), 1e-6)
