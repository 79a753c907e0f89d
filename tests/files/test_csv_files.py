"""CSV instances and plans."""

from __future__ import annotations

import csv

import pytest

from fixedfleet import InputError, Instance, Plan
from fixedfleet.files import read, read_plan, write_instance, write_plan

TABLE = "name,x,y,demand\nHub,0,0,0\nAda,3,4,1\nBob,6,8,2.5\n"


@pytest.fixture
def load(tmp_path):
    """Return a reader of text as a CSV file, with notes."""

    def load(text, encoding="utf-8", **options):
        path = tmp_path / "toy.csv"
        path.write_bytes(text.encode(encoding))
        notes = []
        options = {"vehicles": 2, "capacity": 5, "notes": notes} | options
        return read(path, **options), notes

    return load


def test_a_plain_table(load):
    """The first row is the depot; the rest are customers with names and demands."""
    instance, notes = load(TABLE)
    assert instance == Instance(
        depot=(0, 0),
        customers=[[3, 4], [6, 8]],
        demands=[1, 2.5],
        capacity=5,
        vehicles=2,
        names=["Ada", "Bob"],
        depot_name="Hub",
    )
    assert notes == [
        "the depot is the first row (line 2)",
        "distances not rounded",
        "fleet of 2 vehicles, as asked for",
    ]


@pytest.mark.parametrize("delimiter", [";", "\t", ", "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_delimiters_and_byte_order_marks_make_no_difference(load, delimiter, encoding):
    """Commas, semicolons and tabs delimit, with or without a mark or blanks."""
    text = TABLE.replace(",", delimiter).replace("\n", "\r\n")
    assert load(text, encoding=encoding)[0] == load(TABLE)[0]


def test_trailing_empty_cells_of_a_spreadsheet_make_no_difference(load):
    """Rows and lines of empty cells, as spreadsheets leave them, are passed over."""
    text = "# capacity: 5,,,,\n" + TABLE.replace("\n", ",\n") + ",,,,\n\n"
    assert load(text, capacity=None)[0] == load(TABLE)[0]


@pytest.mark.parametrize(
    "header", ["lat,lon", "Latitude,Longitude", "LAT,LNG", "latitude,long"]
)
def test_degrees_mean_great_circle_distances(load, header):
    """Columns of latitude and longitude, under their usual names, are on the globe."""
    instance, _ = load(f"{header},Demand\n52.52,13.405,\n48.137,11.575,1\n")
    assert instance.metric == "great_circle"
    assert instance.depot.tolist() == [52.52, 13.405]
    assert instance.distances[0, 1] == pytest.approx(504, abs=1)  # Berlin to Munich


def test_longitude_may_stand_first(load):
    """The header says which column is which, not their order."""
    instance, _ = load("lon,lat,demand\n13.405,52.52,\n11.575,48.137,1\n")
    assert instance.depot.tolist() == [52.52, 13.405]


def test_a_named_depot(load):
    """The depot is the row the caller names."""
    instance, _ = load(TABLE.replace(",1\n", ",0\n"), depot="Ada")
    assert instance.depot_name == "Ada"
    assert instance.names == ("Hub", "Bob")


def test_fleet_and_capacity_in_comments_or_columns(load):
    """A file can say its fleet and capacity above the header, or in columns."""
    above = "# vehicles: 3\n# capacity: 7.5\n" + TABLE
    beside = "x,y,demand,vehicles,capacity\n0,0,,3,7.5\n3,4,1,,\n6,8,2,3,7.5\n"
    for text, source in ((above, "comment '# vehicles:'"), (beside, "column vehicles")):
        instance, notes = load(text, vehicles=None, capacity=None)
        assert (instance.vehicles, instance.capacity) == (3, 7.5)
        assert f"fleet of 3 vehicles taken from {source}" in notes


def test_customers_without_names_are_numbered(load):
    """Without names there are none; with some, the others go by their numbers."""
    nameless = "x,y,demand\n0,0,0\n3,4,1\n6,8,2.5\n"
    assert load(nameless)[0].names is None
    assert load(TABLE.replace("Ada", ""))[0].names == ("1", "Bob")


def test_other_columns_and_comments_are_said_to_be_ignored(load):
    """What means nothing here is passed over, and one is told."""
    _, notes = load("# source: a map\nx,y,demand,phone\n0,0,,1\n1,1,1,2\n")
    assert "columns ignored: 'phone'" in notes
    assert "comments ignored: source" in notes
    _, notes = load(",x,y,demand\n0,0,0,\n1,1,1,1\n")  # as pandas writes its index
    assert "columns ignored: ''" in notes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3,4,1", "nan,4,1", "line 3: x is 'nan', not a finite number"),
        ("3,4,1", "3,inf,1", "line 3: y is 'inf', not a finite number"),
        ("3,4,1", "3,,1", "line 3: y is '', not a finite number"),
        ("3,4,1", "3,4,-1", "line 3: demand is -1, not at least 0"),
        ("3,4,1", "3,4,", "line 3: demand is missing"),
        ("3,4,1", "3,4", "line 3: 3 cells, the header has 4"),
        ("3,4,1", '3,4,"1,5"', "line 3: demand is '1,5', not a finite number: write"),
        ("0,0,0", "0,0,4", "line 2 is the depot and has demand 4, not 0: put"),
        ("demand", "load", "no column 'demand' in the header"),
        ("name,x,y", "name,x,lat", "columns name, x, lat, demand: the header must"),
        ("name,x,y", "a,b,c", "columns demand: the header must name x and y"),
        ("name", "X", "two columns for x: 'X' and 'x'"),
        ("Ada", '"Ada', "not a CSV file: unexpected end of data"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(wrong, old, new, said):
    """Each fault of a table is told with its line or column."""
    assert old in TABLE
    assert wrong(TABLE.replace(old, new, 1)).startswith(said)


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("capacity: 0", "comment '# capacity:' is 0, not above 0"),
        ("capacity: much", "comment '# capacity:' is 'much', not a finite number"),
        ("vehicles: 0", "fleet of 0 vehicles taken from comment '# vehicles:', not"),
        ("vehicles: 2.5", "comment '# vehicles:' is '2.5', not a whole number"),
        ("rounding: up", "comment '# rounding:' is 'up', not one of none, round"),
        ("metric: geo", "comment '# metric:' is 'geo', not euclidean for columns x"),
    ],
)
def test_a_comment_that_is_wrong(wrong, comment, said):
    """What a comment says must make sense."""
    key = comment.partition(":")[0]
    options = {key: None} if key in ("capacity", "vehicles") else {}
    assert wrong(f"# {comment}\n{TABLE}", **options).startswith(said)


def test_degrees_out_of_range(wrong):
    """A latitude of 95 degrees is refused with its line."""
    assert wrong("lat,lon,demand\n0,0,\n95,0,1\n").startswith(
        "line 3: lat is 95, not within ±90 degrees"
    )


@pytest.mark.parametrize("name", ["Eve", "Ada"])
def test_a_depot_that_is_no_row_or_two(wrong, name):
    """The caller's depot must be exactly one row."""
    text = TABLE.replace("Bob", "Ada")
    assert f"named {name!r}: the depot is one row" in wrong(text, depot=name)


def test_capacity_and_fleet_are_asked_for(wrong):
    """A table without a capacity or a fleet is refused with the way out."""
    assert "give capacity=" in wrong(TABLE, capacity=None)
    assert "give vehicles=" in wrong(TABLE, vehicles=None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"matrix": [[0, 1], [1, 0]]}, "CSV cannot hold a distance matrix"),
        ({"names": [""]}, "CSV cannot hold the empty name of location 1"),
        ({"names": ["a\x00"]}, "holds the control character 0x00"),
    ],
)
def test_what_csv_cannot_hold_is_refused(tmp_path, changes, said):
    """Nothing of an instance is dropped without a word, and no file is left."""
    fields = {"depot": (0, 0), "customers": [[1, 1]], "demands": [1]}
    instance = Instance(**fields, capacity=1, vehicles=1, **changes)
    with pytest.raises(InputError, match=r"out\.csv: ") as caught:
        write_instance(instance, tmp_path / "out.csv")
    assert said in str(caught.value)
    assert not (tmp_path / "out.csv").exists()


def test_no_cell_of_a_plan_is_a_formula(load, tmp_path):
    """A name that a spreadsheet would compute is written so that it does not."""
    instance, _ = load(TABLE.replace("Ada", "=2+3").replace("Bob", "@x"))
    write_plan(Plan([[2, 1]]), instance, tmp_path / "plan.csv")
    with open(tmp_path / "plan.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["'@x", "'=2+3"]
    assert rows[0] == {
        "tour": "1",
        "stop": "1",
        "customer": "2",
        "name": "'@x",
        "demand": "2.5",
        "x": "6",
        "y": "8",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tour,stop\n1,1\n", "no column 'customer' in the header of a plan"),
        ("tour,stop,customer\n1,1,0\n", "line 2: customer is 0, not a number from 1"),
        ("tour,stop,customer\n1,1,2\n1,1,3\n", "line 3: a second stop 1 of tour 1"),
        ("tour,stop,customer\n1,x,2\n", "line 2: stop is 'x', not a whole number"),
    ],
)
def test_a_plan_that_is_wrong(tmp_path, text, said):
    """Each fault of a plan's table is told with its line."""
    (tmp_path / "plan.csv").write_text(text)
    with pytest.raises(InputError, match=r"plan\.csv: ") as caught:
        read_plan(tmp_path / "plan.csv")
    assert said in str(caught.value)
