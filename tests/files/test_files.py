"""The functions that read and write files of any format."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from fixedfleet import InputError, Plan
from fixedfleet.files import (
    ReadOptions,
    _recognise,
    parse,
    read,
    read_batch,
    read_labels,
    read_plan,
    write_batch,
    write_instance,
    write_plan,
)

MOST = 256 * 10**6  # bytes of a text file

ALL_READERS = pytest.mark.parametrize(
    ("reader", "name"),
    [
        (read, "x.vrp"),
        (read, "x.csv"),
        (read, "x.json"),
        (read_batch, "x.npz"),
        (read_batch, "x.pkl"),
        (read_labels, "x.npz"),
        (read_plan, "x.sol"),
    ],
)


@ALL_READERS
def test_a_file_that_is_missing(reader, name, tmp_path):
    """A missing file is said to be missing, by name."""
    with pytest.raises(FileNotFoundError, match=name):
        reader(tmp_path / name)


@ALL_READERS
def test_a_folder(reader, name, tmp_path):
    """A folder is refused as one."""
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match="a folder, not a file"):
        reader(tmp_path / name)


@ALL_READERS
def test_an_empty_file(reader, name, tmp_path):
    """An empty file is refused with its name."""
    (tmp_path / name).touch()
    with pytest.raises(InputError, match=f"{name}: "):
        reader(tmp_path / name)


@pytest.mark.parametrize(
    ("reader", "name", "said"),
    [
        (read, "x.md", "extension '.md', but an instance is a file .vrp, .csv"),
        (read, "x.txt", "a .txt file is read in Solomon's format, and this one has no"),
        (read, "x", "no extension, but an instance is a file .vrp, .csv, .json"),
        (read, "x.npz", "extension '.npz', but an instance is a file .vrp, .csv"),
        (read_batch, "x.vrp", "extension '.vrp', but a batch is a file .npz, .pkl"),
        (read_plan, "x.vrp", "extension '.vrp', but a plan is a file .sol, .json"),
    ],
)
def test_a_wrong_extension(reader, name, said, tmp_path):
    """A file of another kind is refused with the kinds that are right."""
    (tmp_path / name).write_text("x")
    with pytest.raises(InputError) as caught:
        reader(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {said}")


@pytest.mark.parametrize("extension", [".csv", ".json", ".vrp", ".xlsx"])
def test_the_format_of_a_content_is_recognised(square, extension, tmp_path):
    """A content needs no name."""
    write_instance(square, path := tmp_path / f"x{extension}")
    assert parse(path.read_bytes()).instance == read(path)


def test_headings_with_a_colon_are_not_vrplib():
    """A table whose first heading is NAME: is read as a table."""
    text = "NAME:;X;Y;MENGE:\nDepot;0;0;\nAda;1;1;7\n"
    reading = parse(text, ReadOptions(vehicles=1, capacity=9))
    assert reading.instance.names == ("Ada",)


def test_an_extension_in_capitals(square, tmp_path):
    """The case of an extension does not matter."""
    write_instance(square, tmp_path / "X.VRP")
    assert read(tmp_path / "X.VRP") == square


def test_an_unknown_rounding(square, tmp_path):
    """A rounding that is none is refused with the choices."""
    write_instance(square, tmp_path / "x.json")
    with pytest.raises(InputError, match="unknown rounding 'up': choose from none"):
        read(tmp_path / "x.json", rounding="up")


def test_notes_are_logged(square, tmp_path, caplog):
    """Reading says where the fleet comes from and how distances are rounded."""
    write_instance(square, tmp_path / "x.json")
    with caplog.at_level(logging.INFO, logger="fixedfleet"):
        read(tmp_path / "x.json", vehicles=5)
    said = [record.getMessage() for record in caplog.records]
    assert f"{tmp_path / 'x.json'}: fleet of 5 vehicles, as asked for" in said
    assert f"{tmp_path / 'x.json'}: distances not rounded" in said


@pytest.mark.parametrize("vehicles", [0, -1, 1.5])
def test_a_fleet_below_one(square, tmp_path, vehicles):
    """A fleet given by the caller must be a whole number of at least 1."""
    write_instance(square, tmp_path / "x.json")
    with pytest.raises(InputError, match="not a whole number of at least 1"):
        read(tmp_path / "x.json", vehicles=vehicles)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xff\xfex\x00,", "not a text file: character 3 is 0x00"),
        (b"x,y,demand\n1,2,\x81", "byte 15 is 0x81, which is not UTF-8: save"),
        (b"x,y,demand\n\x00\x01", "not a text file: character 11 is 0x00"),
        (b" \n\n", "the file is empty"),
    ],
)
def test_bytes_that_are_no_text(data, said, tmp_path):
    """Bytes that are not text are refused with the place."""
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(tmp_path / "x.csv")
    assert said in str(caught.value)


def test_writers_refuse_a_wrong_extension(square, tmp_path):
    """Nothing is written under an extension that says nothing."""
    with pytest.raises(InputError, match="an instance is a file"):
        write_instance(square, tmp_path / "x.txt")
    with pytest.raises(InputError, match="a plan is a file"):
        write_plan(Plan([[1]]), square, tmp_path / "x.vrp")
    with pytest.raises(InputError, match="a batch is a file"):
        write_batch(tmp_path / "x.json", None)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_for_another_instance(square, tmp_path):
    """A plan that serves a customer the instance has not is not written."""
    with pytest.raises(InputError, match="customer 9, but the instance has 4 "):
        write_plan(Plan([[1, 9]]), square, tmp_path / "x.sol")
    assert list(tmp_path.iterdir()) == []


def table(customers, name="a"):
    """A CSV table of so many customers."""
    rows = [f"{name},{i},{i},1" for i in range(customers)]
    head = ["# name: x", "# capacity: 5", "", "name,x,y,demand", "home,0,0,"]
    return "\n".join([*head, *rows, ",,,", ""])


def vrplib(customers):
    """A VRPLIB file of so many customers."""
    nodes = range(1, customers + 2)
    coordinates = [f"{node} 0 {node}" for node in nodes]
    demands = [f"{node} {int(node > 1)}" for node in nodes]
    sections = ["NODE_COORD_SECTION", *coordinates, "DEMAND_SECTION", *demands]
    return "\n".join(["CAPACITY : 5", *sections, "DEPOT_SECTION", "1", "-1", "EOF"])


def matrix(customers):
    """A JSON instance of distances alone, with so many customers."""
    rows = [[0] * (customers + 1)] * (customers + 1)
    return json.dumps({"demands": [1] * customers, "matrix": rows})


def points(customers):
    """A JSON instance of places, with so many customers."""
    places = [[0, i] for i in range(customers)]
    data = {"depot": [0, 0], "customers": places, "demands": [1] * customers}
    return json.dumps(data)


@pytest.mark.parametrize("make", [table, vrplib, matrix, points])
def test_an_instance_beyond_the_limit(make, monkeypatch):
    """An instance at the limit is read; a larger one is refused and never built."""
    options = ReadOptions(max_customers=40, allow_missing=True)
    assert parse(make(40), options).instance.num_customers == 40
    monkeypatch.setattr("fixedfleet.files.reading.Instance", None)
    for customers in (41, 400):
        with pytest.raises(
            InputError, match="too many customers: at most 40 are allowed"
        ):
            parse(make(customers), options)


def test_a_quoted_cell_of_several_lines_is_one_customer():
    """Lines within quotes are not taken for customers."""
    options = ReadOptions(vehicles=9, max_customers=40)
    reading = parse(table(40, '"two\nlines"'), options)
    assert reading.instance.names[0] == "two\nlines"


def test_what_nobody_has_given_is_reported():
    """On request, a missing fleet or capacity is reported instead of refused."""
    reading = parse("x,y,demand\n0,0,\n1,1,7\n", ReadOptions(allow_missing=True))
    assert reading.instance.num_customers == 1
    assert reading.missing == ["capacity", "vehicles"]
    with pytest.raises(InputError, match="what a vehicle carries: give capacity=, or "):
        parse("x,y,demand\n0,0,\n1,1,7\n")


@pytest.mark.parametrize("extension", [".json", ".vrp", ".txt"])
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("columns", {"demand": "Paletten"}),
        ("sheet", "Kunden"),
        ("corrections", {2: {"demand": "7"}}),
    ],
)
def test_options_of_a_table_are_refused_for_other_formats(extension, option, value):
    """Columns, a sheet or corrections are refused if the file is no table."""
    text = {
        ".json": '{"depot": [0, 0], "customers": [[1, 1]], "demands": [1]}',
        ".vrp": "TYPE : CVRP\nDIMENSION : 2\nNODE_COORD_SECTION\n1 0 0\n2 1 1\n",
        ".txt": "C101\nNUMBER CAPACITY\n25 200\n",
    }[extension]
    assert _recognise(text) == extension
    with pytest.raises(InputError, match=f"only a table has .* leave {option}= out"):
        parse(text, ReadOptions(vehicles=1, capacity=9, **{option: value}))


def test_an_error_says_how_a_file_states_its_fleet():
    """Each format has its own way to state the fleet, which the error names."""
    texts = {
        "the line '# vehicles: …'": "# capacity: 9\nx,y,demand\n0,0,\n1,1,7\n",
        "the key 'vehicles'": '{"depot": [0, 0], "customers": [[1, 1]],'
        ' "demands": [1], "capacity": 9}',
    }
    for way, text in texts.items():
        with pytest.raises(InputError, match=f"add {way} to the file"):
            parse(text)


@pytest.mark.parametrize("filler", ["\n", " \n", "\t", " ", "\r\n", "NAME\n", "#\n"])
def test_many_empty_lines_take_linear_time(filler):
    """The format of a text is recognised after 200,000 empty lines."""
    assert _recognise(filler * 200_000 + "x,y") == ".csv"


@pytest.mark.parametrize(
    ("reader", "name", "size"),
    [
        (read, "x.csv", 2**31),
        (read, "x.xlsx", 2**31),
        (read, "x.vrp", MOST + 1),
        (read, "x.json", MOST + 1),
        (read_plan, "x.sol", MOST + 1),
        (read_plan, "x.csv", MOST + 1),
        (read_batch, "x.pkl", 2**33),
    ],
)
def test_a_file_is_measured_before_it_is_read(
    reader, name, size, tmp_path, monkeypatch
):
    """A huge file, even one with nothing in it, is refused before it is read."""
    with open(tmp_path / name, "wb") as file:
        file.truncate(size)  # sparse: it takes no room on the disk
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("it was read"))
    with pytest.raises(InputError, match=r" MB, and at most .* is this the right file"):
        reader(tmp_path / name)


@pytest.mark.parametrize(
    ("reader", "name", "megabytes"),
    [
        (read, "x.csv", 256),
        (read, "x.vrp", 256),
        (read, "x.json", 256),
        (read_plan, "x.sol", 256),
        (read_batch, "x.pkl", 2000),
        (read_batch, "x.txt", 2000),
    ],
)
def test_a_file_may_have_the_largest_size_but_no_byte_more(
    reader, name, megabytes, tmp_path, monkeypatch
):
    """The largest file is read, and the refusal of a larger one says the limit."""
    path = tmp_path / name
    monkeypatch.setattr(Path, "read_bytes", lambda path: b" ")
    for more, said in (
        (0, "the file is empty"),
        (1, f"and at most {megabytes:,} MB are read"),
    ):
        with open(path, "wb") as file:
            file.truncate(megabytes * 10**6 + more)  # sparse
        with pytest.raises(InputError, match=said):
            reader(path)


def test_doubtful_data_is_logged(tmp_path, caplog):
    """Reading a file warns about doubtful rows, also in a program of one's own."""
    (tmp_path / "x.csv").write_text("x,y,demand,name\n0,0,,hub\n1,1,0,Ada\n")
    read(tmp_path / "x.csv", 1, capacity=1)
    said = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert said == [f"{tmp_path / 'x.csv'}: row 3 (Ada): the demand is 0"]


def test_customers_can_be_left_out_of_a_reading():
    """Rows, doubts and notes follow when customers are left out."""
    text = "x,y,demand,name\n0,0,,hub\n1,1,0,Ada\n2,1,1,Bob\n3,3,0,Eve\n"
    reading = parse(text, ReadOptions(vehicles=1, capacity=1))
    assert reading.rows == [2, 3, 4, 5]
    (doubt,) = reading.doubts
    assert (doubt.customers, doubt.text) == (
        [1, 3],
        "row 3 (Ada) and row 5 (Eve): the demand is 0",
    )
    rest = reading.without([1])
    assert rest.instance.names == ("Bob", "Eve")
    assert rest.rows == [2, 4, 5]
    assert rest.notes == [*reading.notes, "1 customer left out: Ada"]
    assert rest.doubts[0].text == "row 5 (Eve): the demand is 0"
    assert reading.without([]) is reading
