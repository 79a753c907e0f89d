"""Instances and plans as tables, in CSV and Excel."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import openpyxl
import pytest

from fixedfleet import InputError, Instance, MissingPackageError, Plan
from fixedfleet.files import (
    Dialect,
    ReadOptions,
    excel,
    parse,
    read,
    read_file,
    read_plan,
    write_instance,
    write_plan,
)
from fixedfleet.files.table import read_table, split_heading

TABLE = "name,x,y,demand\nHub,0,0,0\nAda,3,4,1\nBob,6,8,2.5\n"


@pytest.fixture
def load(tmp_path):
    """Return a reader of text as a CSV file, with notes."""

    def load(text, encoding="utf-8", **options):
        path = tmp_path / "toy.csv"
        path.write_bytes(text.encode(encoding))
        options = {"vehicles": 2, "capacity": 5} | options
        reading = read_file(path, ReadOptions(**options))
        return reading.instance, reading.notes

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
        "the depot is the first row (row 2)",
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


@pytest.mark.parametrize("by_road", [False, True])
def test_roads_to_come_keep_the_windows_between_degrees(load, by_road):
    """Until there are roads, a speed is assumed; between plain points there is none."""
    rows = ",demand,from,to\n51,13,0,,\n51.1,13.1,1,08:00,12:00\n"
    degrees, notes = load(f"lat,lon{rows}", by_road=by_road)
    plain, _ = load(f"x,y{rows}", by_road=by_road)
    assert (plain.windows, plain.speed) == (None, None)
    if by_road:
        assert degrees.windows.tolist() == [[480, 720]]
        assert 60 * degrees.speed == pytest.approx(40)
        assert not any("km/h" in note for note in notes)
    else:
        assert (degrees.windows, degrees.speed) == (None, None)


def test_a_column_of_crosses_is_no_coordinate(load):
    """Beside latitude and longitude, x and y are columns that travel along."""
    text = "lat,lon,demand,X,y\n52.5,13.4,,,1\n48.1,11.5,1,x,2\n"
    instance, _ = load(text)
    assert instance.metric == "great_circle"
    assert instance.columns == {"X": ("", "x"), "y": ("1", "2")}


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


def test_other_columns_travel_and_other_comments_are_ignored(load):
    """Columns that mean nothing here are kept, comments are not, and one is told."""
    text = "# source: a map\nx,phone,y,demand,\n0,'+1,0,,\n1,0341 2,1,1,\n"
    instance, notes = load(text)
    assert instance.columns == {"phone": ("+1", "0341 2")}
    assert "further columns: phone" in notes
    assert "comments ignored: source" in notes
    instance, notes = load(",x,y,demand\n0,0,0,\n1,1,1,1\n")  # pandas and its index
    assert instance.columns == {}
    assert "a column without a heading was ignored" in notes


def test_two_columns_with_one_heading_both_travel(load):
    """A second column of the same heading gets a number."""
    instance, _ = load("x,y,demand,Tel,tel\n0,0,,a,b\n1,1,1,c,d\n")
    assert instance.columns == {"Tel": ("a", "c"), "tel 2": ("b", "d")}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("3,4,1", "nan,4,1", "row 3 (Ada): x is 'nan', not a finite number"),
        ("3,4,1", "3,inf,1", "row 3 (Ada): y is 'inf', not a finite number"),
        ("3,4,1", "3,,1", "row 3 (Ada): y is empty"),
        ("3,4,1", "3,4,-1", "row 3 (Ada): demand is -1, not at least 0"),
        ("3,4,1", "3,4,", "row 3 (Ada): demand is empty, and only the depot has no"),
        ("3,4,1", "3,4", "row 3 (Ada): demand is empty, and only the depot has no"),
        ("3,4,1", "3,4,1,2", "row 3: 5 cells, but 4 headings"),
        ("3,4,1", "3,4,a 12", "row 3 (Ada): demand is 'a 12', not a finite number"),
        ("0,0,0", "0,,0", "row 2: y is empty; this row is the depot"),
        ("0,0,0", "0,0,4", "row 2 is the depot and has demand 4, not 0: put"),
        ("demand", "load", "no column 'demand': the headings are 'name', 'x', 'y', 'l"),
        ("name,x,y", "name,x,lat", "the headings are 'name', 'x', 'lat', 'demand': n"),
        ("name,x,y", "a,b,c", "the headings are 'a', 'b', 'c', 'demand': name the co"),
        ("name", "X", "two columns for x: 'X' and 'x'; choose one with columns="),
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
        (
            "capacity: 0",
            "capacity (comment '# capacity:') is 0.0, not a number above 0",
        ),
        ("capacity: much", "comment '# capacity:' is 'much', not a finite number"),
        ("vehicles: 0", "vehicles (comment '# vehicles:') is 0, not a number above 0"),
        ("vehicles: 2.5", "comment '# vehicles:' is '2.5', not a whole number"),
        ("rounding: up", "unknown rounding 'up': choose from none, round"),
        ("metric: geo", "unknown metric 'geo': choose from euclidean"),
    ],
)
def test_a_comment_that_is_wrong(wrong, comment, said):
    """What a comment says must make sense."""
    key = comment.partition(":")[0]
    options = {key: None} if key in ("capacity", "vehicles") else {}
    assert wrong(f"# {comment}\n{TABLE}", **options).startswith(said)


def test_degrees_out_of_range(wrong):
    """A latitude of 95 degrees is refused with its row and the likely reason."""
    assert wrong("lat,lon,demand\n0,0,\n51.3,123796,1\n").startswith(
        "row 3: lon is 123796, not within ±180 degrees; is a decimal sign lost?"
    )
    assert wrong("lat,lon,demand\n0,0,\n95,0,1\n").startswith(
        "row 3: lat is 95, not within ±90 degrees; are lat and lon swapped?"
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
        ({"matrix": [[0, 1], [1, 0]]}, "a table cannot hold distances: write .json"),
        ({"names": [""]}, "a table cannot hold the empty name of location 1"),
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
    with open(tmp_path / "plan.csv", encoding="utf-8-sig", newline="") as file:
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
        (
            "tour,stop,customer\n1,1,0\n",
            "row 2: customer is '0', not a whole number from 1",
        ),
        ("tour,stop,customer\n1,1,2\n1,1,3\n", "row 3: a second stop 1 of tour 1"),
        ("tour,stop,customer\n1,x,2\n", "row 2: stop is 'x', not a whole number"),
    ],
)
def test_a_plan_that_is_wrong(tmp_path, text, said):
    """Each fault of a plan's table is told with its line."""
    (tmp_path / "plan.csv").write_text(text)
    with pytest.raises(InputError, match=r"plan\.csv: ") as caught:
        read_plan(tmp_path / "plan.csv")
    assert said in str(caught.value)


EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "getraenke_koeln.csv"
# What an Excel of each country writes: encoding, separator, decimal sign.
EXCELS = [
    ("cp1252", ";", ","),
    ("utf-8-sig", ";", ","),
    ("utf-8-sig", ",", "."),
    ("utf-16", "\t", ","),
    ("utf-16", "\t", "."),
]
GERMAN = """Kunde;Breite;Länge;Menge [kg];Telefon;Bemerkung
Lager Süd;51,3952;12,2987;;;
Bäckerei Groß;51,3396;12,3796;192,7;0341 1;"Hof; klingeln"
Café;51,3372;12,3744;35;0341 2;
"""


@pytest.mark.parametrize(("encoding", "separator", "decimal"), EXCELS)
def test_a_table_as_excel_writes_it(load, encoding, separator, decimal):
    """Separator, decimal sign, encoding and German headings are recognised."""
    cells = [row.split(";", 5) for row in GERMAN.splitlines()]
    cells = [[cell.replace(",", decimal) for cell in row] for row in cells]
    for row in cells:
        row[5] = row[5].replace('"Hof; klingeln"', '"Hof, klingeln"')
        if separator == decimal:
            row[:5] = [f'"{cell}"' for cell in row[:5]]
    text = "\r\n".join(separator.join(row) for row in cells)
    instance, notes = load(text, encoding=encoding)
    assert instance == Instance(
        depot=(51.3952, 12.2987),
        customers=[(51.3396, 12.3796), (51.3372, 12.3744)],
        demands=[192.7, 35],
        capacity=5,
        vehicles=2,
        metric="great_circle",
        names=["Bäckerei Groß", "Café"],
        depot_name="Lager Süd",
        unit="kg",
        columns={
            "Telefon": ("", "0341 1", "0341 2"),
            "Bemerkung": ("", "Hof, klingeln", ""),
        },
    )
    said = "the file is not UTF-8: it was read as Windows text (cp1252)"
    assert (said in notes) == (encoding == "cp1252")


def test_a_line_that_tells_excel_the_separator(load):
    """Excel's own first line, "sep=;", is passed over and is not a row."""
    instance, notes = load(f"sep=;\r\n{TABLE.replace(',', ';')}")
    assert instance == load(TABLE)[0]
    assert notes[0] == "the depot is the first row (row 2)"


def test_decimal_commas_in_quotes(load):
    """Google's sheets write decimal commas within quotes between commas."""
    text = 'x,y,demand\n"0,5",0,\n"1,25",2,"12,5"\n'
    assert load(text)[0].demands.tolist() == [12.5]


@pytest.mark.parametrize(
    "header",
    ["BREITE;LÄNGE;MENGE", "Latitude (WGS84);Longitude (WGS84);Weight in kg",
     "Breitengrad;Laengengrad;Liefermenge", "lat.;lon.;Qty:"],
)  # fmt: skip
def test_headings_in_english_and_german(load, header):
    """Case, units and punctuation of a heading make no difference."""
    instance, _ = load(f"{header}\n51,5;12,5;\n51,25;12,25;3\n")
    assert instance.depot.tolist() == [51.5, 12.5]
    assert instance.columns == {}


@pytest.mark.parametrize(
    ("heading", "bare", "unit"),
    [
        ("Menge (kg)", "menge", "kg"),
        ("MENGE [ kg ] ", "menge", "kg"),
        ("Weight in kg", "weight", "kg"),
        ("Qty.:", "qty", ""),
        ("customer_name", "customer name", ""),
        ("Kisten ()", "kisten", ""),
        ("(kg)", "", "kg"),
        ("", "", ""),
    ],
)
def test_a_heading_may_have_a_unit(heading, bare, unit):
    """It is in brackets or after "in", and no part of the name of the column."""
    assert split_heading(heading) == (bare, unit)


def test_headings_of_ones_own(load, wrong):
    """The caller can say which column is which; the other one travels along."""
    text = "Nord;Ost;Gewicht;Menge\n51,5;12,5;;\n51,25;12,25;3;7\n"
    own = {"lat": "Nord", "lon": "ost", "demand": "Menge"}
    instance, _ = load(text, columns=own)
    assert instance.demands.tolist() == [7]
    assert instance.columns == {"Gewicht": ("", "3")}
    said = "two columns for demand: 'Gewicht' and 'Menge'; choose one with columns="
    assert wrong(text, columns={"lat": "Nord", "lon": "Ost"}) == said
    said = wrong(text, columns=own | {"demand": "Kisten"})
    assert said.startswith("no column 'Kisten' for demand: the headings are 'Nord', 'O")
    assert wrong(text, columns={"hat": "Nord"}).startswith("unknown column 'hat': choo")
    assert wrong(text, columns=own | {"demand": "Nord"}) == (
        "one heading for two columns: Nord, ost, Nord"
    )


def test_a_known_heading_may_be_chosen_for_another_column(load):
    """The caller's choice counts more than what a heading usually means."""
    instance, _ = load(
        "Länge;Breite;Menge\n0;0;\n3;4;1\n", columns={"x": "Länge", "y": "Breite"}
    )
    assert instance.metric == "euclidean"
    swapped = load(
        "lon;lat;Menge\n52;13;\n48;11;1\n", columns={"lat": "lon", "lon": "lat"}
    )
    assert swapped[0].depot.tolist() == [52, 13]


def test_a_column_of_numbers_may_be_headed_by_a_hash(load):
    """A first heading "#" is a heading, and a comment is a comment."""
    instance, _ = load("# a remark, with a comma\n#,x,y,demand\n1,0,0,\n2,3,4,1\n")
    assert instance.columns == {"#": ("1", "2")}


@pytest.mark.parametrize("junk", ["[", "(", " ", " in ", "1,", "1."])
def test_a_huge_heading_or_cell_takes_linear_time(wrong, junk):
    """A table with one cell of 100,000 characters is refused at once, in a line."""
    huge = (junk * 10**5)[: 10**5]
    said = wrong(f"a{huge}\n")
    assert said.startswith("the headings are ") and len(said) < 1000
    said = wrong(f'x,y,demand\n0,0,\n1,1,"{huge}"\n')
    assert said.startswith("row 3: ") and len(said) < 1000


def test_an_exact_heading_wins(load):
    """Among several headings for a column, the English one is taken."""
    instance, _ = load("x;y;Gewicht;demand;Firma;Name\n0;0;;;a;b\n1;1;2;3;c;d\n")
    assert (instance.demands.tolist(), instance.names) == ([3], ("d",))
    assert instance.columns == {"Gewicht": ("", "2"), "Firma": ("a", "c")}


@pytest.mark.parametrize(
    ("demand", "other", "value"),
    [
        ("1.250,5", "12,5", 1250.5),
        ("1,250.5", "12.5", 1250.5),
        ("1\u00a0250,5", "12,5", 1250.5),
        ("1.250", "12,5", None),
        ("1,250", "12.5", None),
        ("1,250", "12,5", 1.25),
        ("0.125", "12,5", 0.125),
    ],
)
def test_a_sign_between_thousands_is_never_guessed(load, wrong, demand, other, value):
    """A number that could be 1.25 or 1250 is refused, with its row and column."""
    text = f"x;y;Menge\n0;0;\n1;1;{demand}\n2;2;{other}\n"
    if value is None:
        said = f"row 3: Menge is {demand!r}, which could be a decimal number or a thou"
        assert wrong(text).startswith(said)
    else:
        assert load(text)[0].demands[0] == value


def test_thousands_among_points_of_coordinates(load, wrong):
    """Points in coordinates do not tell what 1.250 kg means; other weights do."""
    text = "lat;lon;Menge\n51.0634;13.7;\n51.1;13.8;1.250\n51.2;13.9;650\n"
    said = "row 3: Menge is '1.250', which could be a decimal number or a thousand"
    assert wrong(text).startswith(said)
    instance, _ = load(text.replace("650", "6.5"))
    assert instance.demands.tolist() == [1.25, 6.5]


def test_thousands_in_excel(tmp_path):
    """A cell that holds a number is certain; the text 1.250 kg is not."""
    rows = [["x", "y", "demand"], [0, 0, None], [1, 1, 1.125], [2, 2.5, "1.250 kg"]]
    path = tmp_path / "x.xlsx"
    path.write_bytes(sheet_of(rows))
    with pytest.raises(InputError, match=r"row 4: demand is '1\.250 kg', which could"):
        read(path, 2, capacity=9)
    rows[3][2] = "1,25 kg"
    path.write_bytes(sheet_of(rows))
    assert read(path, 2, capacity=9).demands.tolist() == [1.125, 1.25]


def test_degrees_are_never_thousands(load):
    """A latitude with a point is a latitude, whatever the other numbers look like."""
    instance, _ = load("lat;lon;Menge\n51.345;12.345;\n51.346;12.346;1,5\n")
    assert instance.depot.tolist() == [51.345, 12.345]


def test_a_second_depot_without_demand(wrong):
    """A second row without demand is told that there is one depot, and where."""
    text = "x,y,demand,name\n0,0,,hub\n1,1,3,a\n2,2,,Lager Süd\n"
    said = "row 4 (Lager Süd): demand is empty, and only the depot has no demand"
    assert wrong(text) == said


def test_a_plan_opens_in_the_excel_that_wrote_the_customers(tmp_path):
    """A plan has a byte-order mark, and the separators and decimals of the input."""
    reading = read_file(EXAMPLE, ReadOptions(vehicles=4, capacity=950))
    assert reading.dialect == Dialect(";", ",")
    plan = Plan([range(1, 43)])
    write_plan(plan, reading.instance, tmp_path / "p.csv", reading.dialect)
    data = (tmp_path / "p.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbftour;stop;customer;name;demand;lat;lon;Stra")
    assert "Café Eigelstein;66,4;50,9487;6,9568;Eigelstein 87;" in data.decode()
    assert read_plan(tmp_path / "p.csv") == plan
    write_plan(plan, reading.instance, tmp_path / "p.csv")
    assert b"66.4,50.9487,6.9568,Eigelstein 87" in (tmp_path / "p.csv").read_bytes()


@pytest.mark.parametrize("extension", ["csv", "xlsx"])
def test_a_plan_in_german_is_read_again(extension, tmp_path):
    """All headings are German, and stops are still found by name and place."""
    table = "x,y,Menge,name,Stop,von\n0,0,,hub,,\n1,1,2,Ada,a,9:00\n2,2,3,Bob,b,\n"
    options = ReadOptions(vehicles=2, capacity=9, speed=60)
    instance = parse(table, options).instance
    path = tmp_path / f"p.{extension}"
    write_plan(Plan([[2]]), instance, path, language="de")
    first, bob, ada = cells_of(path)
    assert [str(cell) for cell in first] == [
        *("Tour", "Stopp", "lfd. Nr.", "Name", "Menge", "Ankunft", "Beginn", "Abfahrt"),
        *("Lieferfenster", "x", "y", "Stop 2"),
    ]
    assert (ada[0], ada[8]) == ("nicht beliefert", "ab 09:00")
    assert bob[3] == "Bob"
    other = parse(table.replace("1,1,2,Ada", "1,1,2,Abe"), options).instance
    assert read_plan(path, other) == Plan([[2]])
    turned = "\n".join([*table.split("\n")[:2], *table.split("\n")[3:1:-1]])
    assert read_plan(path, parse(turned, options).instance) == Plan([[1]])


def test_the_totals_of_a_plan_in_german(tmp_path):
    """The second sheet is German, too, with units and the kind of the length."""
    options = ReadOptions(vehicles=4, capacity=950, detour=1.3)
    instance = read_file(EXAMPLE, options).instance
    write_plan(Plan([[4, 1]]), instance, tmp_path / "p.xlsx", language="de")
    sheet = openpyxl.load_workbook(tmp_path / "p.xlsx")["Touren"]
    head, *_, last = sheet.iter_rows(values_only=True)
    assert head == (
        *("Tour", "Stopps", "Ladung (kg)", "Kapazität", "frei"),
        "Strecke (km, Luftlinie mal 1,3)",
    )
    assert last[:2] == ("alle", 2)


@pytest.mark.parametrize("extension", ["csv", "xlsx"])
def test_phone_and_remarks_travel_to_the_plan(extension, tmp_path):
    """Columns that mean nothing here are in the plan, beside each stop."""
    instance = read(EXAMPLE, 4, capacity=950)
    plan = Plan([[4, 1]])
    write_plan(plan, instance, tmp_path / f"p.{extension}")
    assert read_plan(tmp_path / f"p.{extension}") == plan
    rows = cells_of(tmp_path / f"p.{extension}")
    assert rows[0][-3:] == ["Straße", "Telefon", "Bemerkung"]
    assert rows[1][-3:] == [
        "Hohenzollernring 62",
        "0221 4710 104",
        "Rampe im Hof; bitte klingeln",
    ]


def cells_of(path):
    """The cells of a table, as a spreadsheet shows them."""
    if path.suffix == ".xlsx":
        sheet = openpyxl.load_workbook(path).worksheets[0]
        return [list(row) for row in sheet.iter_rows(values_only=True)]
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("extension", ["csv", "xlsx", "json", "sol"])
def test_unserved_customers_are_marked(load, extension, tmp_path):
    """Every format of a plan names the customers that it does not serve."""
    instance, _ = load(TABLE)
    path = tmp_path / f"p.{extension}"
    write_plan(Plan([[2]]), instance, path)
    assert read_plan(path) == Plan([[2]])
    if extension in ("csv", "xlsx"):
        last = [str(cell or "") for cell in cells_of(path)[-1]]
        assert last[:5] == ["unserved", "", "1", "Ada", "1"]
    elif extension == "sol":
        assert path.read_text().splitlines()[-1] == "Unserved: 1"
    else:
        assert '"unserved_names": ["Ada"]' in path.read_text()


def sheet_of(rows):
    """The bytes of an Excel file with these rows, and a second sheet."""
    book = openpyxl.Workbook()
    book.active.title = "Kunden"
    book.create_sheet("Notizen")
    for row in rows:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def test_an_excel_file(tmp_path):
    """Numbers, texts, empty cells and empty columns of an Excel file are read."""
    rows = [
        ["# capacity: 9"],
        [],
        ["Name", "lat", "lon", "Menge (Kisten)", None, "Telefon"],
        ["Hub", 51.5, 12.5, None],
        ["Ada", 51.25, "12,25", 3, None, 3411],
        [7, 51, 12, 2.5, None, "=1"],
    ]
    path = tmp_path / "x.xlsx"
    path.write_bytes(sheet_of(rows))
    reading = read_file(path, ReadOptions(vehicles=2))
    instance, notes = reading.instance, reading.notes
    assert instance.names == ("Ada", "7")
    assert instance.customers.tolist() == [[51.25, 12.25], [51, 12]]
    assert (instance.demands.tolist(), instance.unit) == ([3, 2.5], "Kisten")
    assert instance.columns == {"Telefon": ("", "3411", "")}  # a formula, not computed
    assert "sheet 'Kunden' was read, of 'Kunden', 'Notizen'" in notes
    assert "the depot is the first row (row 4)" in notes
    path.rename(tmp_path / "x.csv")  # the content counts
    assert read(tmp_path / "x.csv", 2) == instance


def test_texts_in_excel_are_never_formulas(load, tmp_path):
    """A name that begins like a formula is a text in Excel, without an apostrophe."""
    instance, _ = load(TABLE.replace("Ada", "=2+3").replace("Bob", "+49 341"))
    write_plan(Plan([[1, 2]]), instance, tmp_path / "p.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "p.xlsx").worksheets[0]
    assert [(c.value, c.data_type) for c in sheet["D"][1:]] == [
        ("=2+3", "s"),
        ("+49 341", "s"),
    ]
    assert [c.data_type for c in sheet[2]] == ["n", "n", "n", "s", "n", "n", "n"]


def archive(**files):
    """The bytes of a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name.replace("__", "/"), content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xd0\xcf\x11\xe0 old", "an old Excel file (.xls): save it as .xlsx or"),
        (archive(**{"content.xml": "x"}), "an OpenDocument table (.ods): save it as"),
        (archive(a="x"), "a zip archive, not an Excel file"),
        (b"PK\x03\x04 and so on", "not an Excel file, or a broken one: "),
        (archive(**{"xl__workbook.xml": "x"}), "not an Excel file, or a broken one: "),
        (
            archive(**{"xl__workbook.xml": b"0" * (64 * 10**6 + 1)}),
            "an Excel file of 64 MB when unpacked, and at most 64 MB are read",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("extension", ["csv", "xlsx"])
def test_what_is_no_excel_file_is_told_what_it_is(data, said, extension, tmp_path):
    """Spreadsheets of other kinds, broken files and zip bombs are refused by name."""
    path = tmp_path / f"x.{extension}"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {said}")


def test_excel_needs_an_extra(load, tmp_path, monkeypatch):
    """Without openpyxl, the error names the extra to install."""
    instance, _ = load(TABLE)
    write_instance(instance, tmp_path / "x.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for attempt in (
        lambda: read(tmp_path / "x.xlsx"),
        lambda: write_instance(instance, tmp_path / "y.xlsx"),
    ):
        with pytest.raises(MissingPackageError, match=r"fixedfleet\[excel\]"):
            attempt()
    assert not (tmp_path / "y.xlsx").exists()


def test_an_excel_plan_is_fit_to_hand_over(tmp_path):
    """Bold headings with filters stay in view, columns are wide enough, sums follow."""
    instance = read(EXAMPLE, 4, capacity=950)
    path = tmp_path / "p.xlsx"
    write_plan(Plan([[4, 1], [2]]), instance, path)
    book = openpyxl.load_workbook(path)
    assert book.sheetnames == ["fixedfleet", "tours"]
    for sheet in book:
        assert all(cell.font.bold for cell in sheet[1])
        assert not sheet["A2"].font.bold
        assert sheet.freeze_panes == "A2"
        assert sheet.auto_filter.ref == sheet.dimensions
    street = max(len(text) for text in instance.columns["Straße"])
    assert book["fixedfleet"].column_dimensions["H"].width >= street
    rows = list(book["tours"].values)
    assert rows[0][:5] == ("tour", "stops", "load (kg)", "capacity", "room left")
    assert rows[0][5] == "length (km, straight line)"
    assert rows[1][:2] == (1, 2) and rows[3][:2] == ("all", 3)
    assert rows[1][2] + rows[1][4] == pytest.approx(950)
    assert rows[3][5] == pytest.approx(rows[1][5] + rows[2][5], abs=0.002)
    assert read_plan(path) == Plan([[4, 1], [2]])


def test_a_plan_for_navigation_apps(load, tmp_path):
    """GPX has a route for each tour; it needs places on the globe, and is not read."""
    instance = read(EXAMPLE, 4, capacity=950)
    write_plan(Plan([[4, 1], [2]]), instance, tmp_path / "p.gpx")
    text = (tmp_path / "p.gpx").read_text(encoding="utf-8")
    assert text.count("<rte>") == 2 and text.count("<rtept ") == 4 + 3
    assert "<name>Tour 1</name>" in text
    with pytest.raises(InputError, match="GPX needs latitudes"):
        write_plan(Plan([[1]]), load(TABLE)[0], tmp_path / "q.gpx")
    with pytest.raises(InputError, match=r"extension '\.gpx', but a plan is"):
        read_plan(tmp_path / "p.gpx")


@pytest.mark.parametrize(
    ("demand", "delimiter", "decimal"),
    [
        ("2", ";", ","),  # Excel writes semicolons where it writes decimal commas
        ("2", ",", "."),
        ("2,5", ";", ","),
        ("2.5", ";", "."),
        ("2,5;1.5", ";", "."),
    ],
)
def test_the_decimal_sign_of_a_table(tmp_path, demand, delimiter, decimal):
    """The sign is that of the numbers; a point if they have both; else a guess."""
    rows = ["x,y,demand", "0,0,0", *(f"1,1,@{cell}" for cell in demand.split(";"))]
    text = "\n".join(row.replace(",", delimiter) for row in rows)
    for cell in demand.split(";"):
        text = text.replace("@" + cell.replace(",", delimiter), cell)
    path = tmp_path / "toy.csv"
    path.write_text(text, encoding="utf-8")
    reading = read_file(path, ReadOptions(vehicles=2, capacity=5))
    assert reading.dialect == Dialect(delimiter, decimal)


def test_a_comment_with_commas_is_one_comment(load):
    """A comment is split into cells at its commas and put together again."""
    instance, _ = load("# name: Monday, north\n" + TABLE)
    assert instance.name == "Monday, north"
    assert instance.num_customers == 2


def test_an_empty_comment_is_no_row(load):
    """A lone "#" above the headings, with or without delimiters, is passed over."""
    for above in ("#\n", "# \n", "#,,,\n"):
        assert load(above + TABLE)[0] == load(TABLE)[0]
        assert not any("rows above" in note for note in load(above + TABLE)[1])


def test_of_two_rows_of_texts_the_first_has_the_headings(wrong):
    """If no heading is known, the first of equally good rows has the headings."""
    said = wrong("one,two,three\nred,green,blue\n1,2,3\n")
    assert "the headings are 'one', 'two', 'three'" in said


@pytest.mark.parametrize("above", [14, 15])
def test_headings_are_sought_in_fifteen_rows(load, wrong, above):
    """Further down there are customers; empty rows do not count."""
    text = "Monday,,,\n,,,\n\n" * above + TABLE
    if above < 15:
        assert load(text)[0].names == ("Ada", "Bob")
    else:
        assert wrong(text).startswith("the headings are 'Monday'")


@pytest.mark.parametrize("count", [20, 21])
def test_twenty_headings_are_listed(wrong, count):
    """A message has room for so many; each is listed once, and others are dots."""
    said = wrong(",".join([f"h{i:02}" for i in range(count)] + ["h00"]) + "\n")
    assert said.count("'h") == 20
    assert ("'h19', …" in said) == (count == 21)
    assert said.startswith("the headings are 'h00', 'h01', ")


def test_degrees_have_at_most_60_characters():
    """A longer cell is not searched for degrees."""
    table = read_table("lat\n1\n", {"lat": "lat"}, numbers=["lat"])
    assert table.degrees("51° 30'" + 52 * " " + "N", "it", "NS") == 51.5
    with pytest.raises(InputError, match="not a finite number"):
        table.degrees("51° 30'" + 53 * " " + "N", "it", "NS")


@pytest.mark.parametrize(
    ("cell", "degrees"),
    [
        ("-5° 30'", -5.5),
        ("-0° 15' 36\"", -0.26),
        ("5° 30' S", -5.5),
        ("5.5 n", 5.5),
        ("S 5,5", -5.5),
        ('1° 3600"', 2),
    ],
)
def test_minutes_and_seconds_add_to_the_size_of_degrees(cell, degrees):
    """They go on in the direction of the degrees, south as well as north."""
    table = read_table("lat\n1\n", {"lat": "lat"}, numbers=["lat"])
    assert table.degrees(cell, "it", "NS") == pytest.approx(degrees)


@pytest.mark.parametrize("cell", ["N 5 N", "N 5 S", "5 E", "5° 6"])
def test_degrees_with_two_or_wrong_letters_are_refused(cell):
    """One letter says the direction, and it is one of the axis."""
    table = read_table("lat\n1\n", {"lat": "lat"}, numbers=["lat"])
    with pytest.raises(InputError, match=r"^it is "):
        table.degrees(cell, "it", "NS")


def test_a_workbook_of_an_instance_stays_readable(tmp_path):
    """Its headings are below the comments; only they are bold, fixed and filtered."""
    names = ["Ada", "x" * 80]
    instance = Instance(
        depot=(0, 0),
        customers=[(3, 4), (6, 8)],
        demands=[1, 2.5],
        capacity=5,
        vehicles=2,
        names=names,
    )
    write_instance(instance, tmp_path / "x.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "x.xlsx").worksheets[0]
    rows = [[cell.value for cell in row if cell.value is not None] for row in sheet]
    head = next(place for place, row in enumerate(rows, 1) if len(row) > 1)
    assert head == len(rows) - 3 > 1
    assert sheet.freeze_panes == f"A{head + 1}"
    assert sheet.auto_filter.ref == f"A{head}:D{len(rows)}"
    bold = [row[0].row for row in sheet if row[0].font.bold]
    assert bold == [head]
    widths = [sheet.column_dimensions[letter].width for letter in "ACD"]
    assert widths == [4, 9, 60]  # three more than the longest text, and at most 60
    assert read(tmp_path / "x.xlsx") == instance


@pytest.mark.parametrize("width", [1, 2, 3])
def test_only_a_table_of_several_columns_has_headings(width):
    """A sheet of one column is a list, whose first cell is like the others."""
    data = excel.format_excel([["a"] * width, ["b"] * width])
    sheet = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0]
    bold = [cell.font.bold for row in sheet for cell in row]
    assert bold == [width > 1] * width + [False] * width
    assert sheet.freeze_panes == ("A2" if width > 1 else None)
    assert (sheet.auto_filter.ref is not None) == (width > 1)


def test_the_largest_excel_file_is_read(monkeypatch):
    """A file may have the size that a refusal names, but no byte more."""
    data = archive(**{"xl__workbook.xml": b"0" * 1000})
    monkeypatch.setattr(excel, "_MOST", 1000)
    assert excel.is_excel(data)
    monkeypatch.setattr(excel, "_MOST", 999)
    with pytest.raises(InputError, match="an Excel file of 0 MB when unpacked"):
        excel.is_excel(data)


def test_an_empty_sheet_is_not_read(tmp_path):
    """Of two sheets without known headings, the one that is not empty is read."""
    book = openpyxl.Workbook()
    book.active.title = "Empty"
    sheet = book.create_sheet("Full")
    for row in (["one", "two"], [1, 2], [3, 4]):
        sheet.append(row)
    book.save(tmp_path / "toy.xlsx")
    with pytest.raises(InputError, match="the headings are 'one', 'two'"):
        read(tmp_path / "toy.xlsx", 2, capacity=5)


@pytest.mark.parametrize("count", [10, 12])
def test_of_many_unreadable_rows_ten_are_named(wrong, count):
    """A message names ten rows that cannot be read, and counts the others."""
    said = wrong("x,y,demand\n0,0,\n" + "1,,1\n" * count)
    assert said.startswith(f"{count} rows cannot be read: row 3: y is empty")
    assert said.count("is empty") == 10
    assert said.endswith(" and 2 more") == (count == 12)


def test_a_number_with_a_unit_of_60_characters():
    """Numbers with units are sought in cells of up to 60 characters."""
    longest = "1,5 " + "k" * 56
    for text, decimals in ((longest, {","}), (longest + "k", set())):
        content = f"x;y;demand\n0;0;\n1;1;{text}\n"
        table = read_table(content, {"demand": "demand"}, numbers=["demand"])
        assert table.decimals == decimals
    assert table.quantity(longest, "it") == (1.5, "k" * 56, False)
    with pytest.raises(InputError, match="it is '1,5 kkk"):
        table.quantity(longest + "k", "it")


def test_only_addresses_without_coordinates_are_looked_up():
    """A place that the table states is never replaced by one of a geocoder."""
    table = (
        "name,address,lat,lon,demand\nHub,Markt 1,51,13,0\nAda,Markt 2,,,1\n"
        "Bob,Markt 3,51.1,13.1,1\nCem,Markt 4,,13.2,1\n"
    )
    asked = []

    def geocode(addresses):
        asked.extend(addresses)
        return [SimpleNamespace(latitude=51.2, longitude=13.3, remark="")] * len(asked)

    fleet = {"vehicles": 1, "capacity": 5}
    options = ReadOptions(**fleet, geocode=geocode, allow_unreadable=True)
    customers = parse(table, options).instance.customers.tolist()
    assert asked == ["Markt 2"]
    assert customers == [[51.2, 13.3], [51.1, 13.1]]


def test_a_speed_below_one_is_allowed(load):
    """Distances may be in any unit."""
    assert load(TABLE, speed=0.5)[0].speed == 0.5 / 60
