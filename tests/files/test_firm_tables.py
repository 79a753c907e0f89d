"""Tables as firms have them: titles, sums, several sheets, units, odd coordinates."""

from __future__ import annotations

import datetime
import io

import openpyxl
import pytest

from fixedfleet import InputError, Plan
from fixedfleet.files import ReadOptions, parse, write_plan
from fixedfleet.files.number_formats import shown_text
from fixedfleet.files.reading import parse_columns, parse_corrections
from fixedfleet.files.table import TableError

HEADINGS = ["Kunde", "Breite", "Länge", "Gewicht (kg)", "PLZ"]
ROWS = [
    ["Lager", 51.05, 13.7, None, 1067],
    ["Ada", 51.06, 13.71, 12.5, 1069],
    ["Bob", 51.07, 13.72, 7, 1097],
    ["Cay", 51.08, 13.73, 9, 1099],
]
FLEET = {"vehicles": 3, "capacity": 40}


def book_of(*sheets, hidden=()):
    """The bytes of an Excel file; each sheet is its title and its rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
        if title in hidden:
            sheet.sheet_state = "hidden"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def load(content, **options):
    """Read a table as the page and the command line do."""
    return parse(content, ReadOptions(**{**FLEET, "allow_unreadable": True, **options}))


TITLE = [["Hofmann Frischdienst Dresden"], [], ["Stand:", datetime.date(2026, 11, 16)]]
TABLE = [*TITLE, HEADINGS, *ROWS]
VANS = [["Fuhrpark"], ["Name", "Kennzeichen"], ["Van 1", "DD-AB 1"]]


def test_headings_are_found_below_a_title():
    """Title, date and blank rows above the headings are noted and passed over."""
    reading = load(book_of(("Lieferungen", TABLE)))
    assert reading.instance.names == ("Ada", "Bob", "Cay")
    assert reading.rows == [5, 6, 7, 8]
    above = "rows above the headings ignored: 'Hofmann Frischdienst Dresden', 'Stand:'"
    assert above in reading.notes
    text = "Tour Montag;;\n;;\nx;y;demand\n0;0;\n1;1;2\n"
    assert load(text).instance.demands.tolist() == [2]


@pytest.mark.parametrize("hidden", [(), ("Fuhrpark",), ("Fuhrpark", "Alt")])
def test_the_sheet_with_the_customers_is_found(hidden):
    """Another sheet before it makes no difference; a hidden one is never read."""
    sheets = [("Fuhrpark", VANS), ("Lieferungen", TABLE)]
    if "Alt" in hidden:
        sheets.insert(0, ("Alt", TABLE))
    reading = load(book_of(*sheets, hidden=hidden))
    assert reading.instance.num_customers == 3
    noted = "sheet 'Lieferungen' was read, of 'Fuhrpark', 'Lieferungen'"
    assert (noted in reading.notes) == (hidden == ())


def test_of_several_sheets_one_is_chosen():
    """Two sheets of customers are a choice, and the error lists all sheets."""
    book = book_of(("Mo", TABLE), ("Di", TABLE[:-1]), ("Fuhrpark", VANS))
    with pytest.raises(TableError, match="'Mo', 'Di' look alike: choose one") as caught:
        load(book)
    assert caught.value.sheets == ["Mo", "Di", "Fuhrpark"]
    assert load(book, sheet="di").instance.num_customers == 2
    with pytest.raises(TableError, match="no sheet 'Mi': the sheets are 'Mo', 'Di'"):
        load(book, sheet="Mi")
    with pytest.raises(InputError, match="only an Excel file has sheets"):
        load("x,y,demand\n0,0,\n1,1,2\n", sheet="Mo")


BAD = [
    ["Eve", None, None, 5, 1101],
    ["Fay", 51.09, 13.74, None, 1109],
    ["Gus", "unbekannt", 13.75, 3, 1127],
    ["Summe", None, None, 36.5, None],
]


def test_all_rows_that_cannot_be_read_are_listed_at_once():
    """The good rows are read; each other row is named with its reason."""
    book = book_of(("Lieferungen", [*TABLE, *BAD[:3]]))
    reading = load(book)
    assert reading.instance.names == ("Ada", "Bob", "Cay")
    unread = [doubt for doubt in reading.doubts if doubt.kind == "unreadable"]
    assert [(doubt.row, doubt.columns, doubt.text) for doubt in unread] == [
        (9, ["lat", "lon"], "row 9 (Eve): Breite is empty; Länge is empty"),
        (
            10,
            ["demand"],
            "row 10 (Fay): Gewicht (kg) is empty, and only the depot has no demand",
        ),
        (11, ["lat"], "row 11 (Gus): Breite is 'unbekannt', not a finite number"),
    ]
    assert "rows left out, because they cannot be read: 3" in reading.notes
    with pytest.raises(InputError, match=r"3 rows cannot be read: row 9 .*row 11 "):
        load(book, allow_unreadable=False)
    with pytest.raises(InputError, match="3 rows cannot be read"):  # of five
        load(book_of(("Lieferungen", [*TABLE[:-1], *BAD])))


@pytest.mark.parametrize(
    "row",
    [
        ["Summe", None, None, 36.5, None],
        ["Gesamt:", "", "", "28,5 kg", "3 Kunden"],
        ["Stand: 18.11.2026, Frau Krüger"],
    ],
)
def test_sums_and_remarks_below_the_table_are_no_customers(row):
    """They are left out without a question, and a note names them."""
    reading = load(book_of(("Lieferungen", [*TABLE, [], row])))
    assert reading.instance.names == ("Ada", "Bob", "Cay")
    assert reading.doubts == []
    assert f"row 10 is not a customer: {row[0]!r}" in reading.notes


def test_a_customer_is_not_taken_for_a_sum_or_a_remark():
    """A customer called Total is one; a name without anything else is asked about."""
    total = ["Total", 51.06, 13.75, 4, None]
    alone = ["Dora", None, None, None, None]
    reading = load(book_of(("Lieferungen", [*TABLE, alone, total])))
    assert reading.instance.names == ("Ada", "Bob", "Cay", "Total")
    assert [doubt.row for doubt in reading.doubts] == [9]
    station = ["Total", None, None, 4, "Hauptstraße 5"]
    assert [d.row for d in load(book_of(("L", [*TABLE, station]))).doubts] == [9]


def test_a_row_without_a_place_is_named_with_its_address():
    """Otherwise nobody knows where to put it on the map."""
    table = (
        "Kunde;Straße;PLZ/Ort;Koordinaten;Menge\nLager;Hof 1;01067 Dresden;51, 13;\n"
    )
    table += "Ada;Weg 2;01069 Dresden;51.1, 13;2\nBob;Weg 3;01069 Dresden;k.A.;2\n"
    (doubt,) = load(table).doubts
    said = "row 4 (Bob): Koordinaten is 'k.A.', not a finite number; the address is "
    assert doubt.text == f"{said}'Weg 3, 01069 Dresden'"


@pytest.mark.parametrize(
    "headings", ["Anschrift", "Anschrift;Menge", "Straße;Ort", "Straße;PLZ;Menge"]
)
def test_a_table_of_addresses_is_told_who_finds_their_places(headings):
    """The address of a place may be one column or several, with a demand or without."""
    row = ";".join("1" for _ in headings.split(";"))
    with pytest.raises(InputError, match="the table has addresses, but no latitudes"):
        load(f"{headings}\n{row}\n")


def test_headings_are_listed_once():
    """A column of both coordinates is one heading to choose from."""
    with pytest.raises(TableError) as caught:
        load("Kunde;Koordinaten;Paletten\nLager;51, 13;\nAda;51.1, 13;2\n")
    assert caught.value.headings == ["Kunde", "Koordinaten", "Paletten"]


def test_columns_and_corrections_are_read_from_words():
    """The command line and the address of a request state them as words."""
    assert parse_columns(["Demand=Paletten", " name =a=b"]) == {
        "demand": "Paletten",
        "name": "a=b",
    }
    assert parse_corrections(["14:demand=12", " 9 : LAT =51=", "14:name="]) == {
        14: {"demand": "12", "name": ""},
        9: {"lat": "51="},
    }
    with pytest.raises(InputError, match="columns 'demand' is not of the form") as no:
        parse_columns(["demand"])
    assert no.value.field == "columns"
    for word in ("14:demand", "demand=12", "x:demand=12", ":demand=1", "-1:demand=1"):
        with pytest.raises(InputError, match=f"correction '{word}' is not of the"):
            parse_corrections([word])


def test_cells_can_be_corrected():
    """What the caller says instead of a cell is read, and noted."""
    book = book_of(("Lieferungen", [*TABLE, *BAD[:2]]))
    fixed = {9: {"lat": "51,1", "lon": "13,8"}, 10: {"demand": "4"}}
    reading = load(book, corrections=fixed)
    assert reading.instance.names == ("Ada", "Bob", "Cay", "Eve", "Fay")
    assert reading.instance.demands.tolist() == [12.5, 7, 9, 5, 4]
    assert reading.doubts == []
    assert "row 10: Gewicht (kg) is '4', as asked for" in reading.notes
    with pytest.raises(InputError, match="there is no row 99 to correct"):
        load(book, corrections={99: {"lat": "1"}})
    with pytest.raises(InputError, match="unknown column 'x'"):
        load(book, corrections={9: {"x": "1"}})


def test_left_out_rows_are_decided():
    """A row that the user leaves out is no doubt any more; the others stay one."""
    reading = load(book_of(("Lieferungen", [*TABLE, *BAD[:2]])))
    assert [doubt.row for doubt in reading.without([], [9]).doubts] == [10]
    assert [doubt.row for doubt in reading.without([1]).doubts] == [9, 10]


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("18,1 kg", 18.1),
        ("1.250,5 kg", 1250.5),
        ("1.250,5", 1250.5),
        ("18kg", 18),
        ("18.1 KG", 18.1),
        ("7", 7),
    ],
)
def test_demands_with_units(cell, value):
    """A unit behind a number is read, whatever the signs of the number."""
    reading = load(f"x;y;Menge\n0;0;\n1;1;{cell}\n2;2;2,5 kg\n")
    assert reading.instance.demands.tolist() == [value, 2.5]
    assert reading.instance.unit.casefold() == "kg"
    assert reading.doubts == []


def test_a_guess_is_doubted():
    """'ca. 40 kg' is read as 40, and one is told."""
    reading = load("name;x;y;Menge\nHub;0;0;\nAda;1;1;ca. 40 kg\nBob;2;2;2 kg\n")
    (doubt,) = reading.doubts
    assert (doubt.kind, doubt.customers) == ("guess", [1])
    assert doubt.text == "row 3 (Ada): Menge 'ca. 40 kg' was read as 40"
    assert reading.instance.demands.tolist() == [40, 2]
    assert reading.without([1]).doubts == []


def test_two_units_in_one_column_are_not_mixed():
    """Two tons among kilograms are not two kilograms."""
    reading = load("x;y;Menge (kg)\n0;0;\n1;1;18\n2;2;2 t\n3;3;5 kg\n")
    assert reading.instance.demands.tolist() == [18, 5]
    (doubt,) = reading.doubts
    assert doubt.text == "row 4: Menge (kg) is '2 t', but others are in kg"


@pytest.mark.parametrize(
    ("lat", "lon", "point"),
    [
        ("51,013° N", "13,73° E", (51.013, 13.73)),
        ("51.013°", "13.73°", (51.013, 13.73)),
        ("N 51,013", "O 13,73", (51.013, 13.73)),
        ("51,013 S", "13,73 W", (-51.013, -13.73)),
        ("51° 30' N", "13° 45' 36\" E", (51.5, 13.76)),
    ],
)
def test_degrees_with_signs(lat, lon, point):
    """Degree signs, directions, minutes and seconds are read."""
    quoted = [cell.replace('"', '""') for cell in (lat, lon)]
    rows = f'"{quoted[0]}";"{quoted[1]}";3\n'
    reading = load(f"lat;lon;Menge\n0;0;\n{rows}1;1;1\n")
    assert reading.instance.customers[0].tolist() == pytest.approx(point)


def test_degrees_of_the_other_axis_are_refused():
    """A latitude that says east is no latitude."""
    rows = "51;13,5;\n13,7 E;51 N;1\n51,1;13,6;1\n51,2;13,7;2\n"
    reading = load(f"lat;lon;Menge\n{rows}")
    assert [doubt.columns for doubt in reading.doubts] == [["lat", "lon"]]


@pytest.mark.parametrize(
    "cell",
    ["51.05, 13.73", "51.05,13.73", "51,05; 13,73", "51,05 13,73", "(51.05, 13.73)",
     "51,05, 13,73", "51.05 / 13.73", "51.05° N, 13.73° E"],
)  # fmt: skip
@pytest.mark.parametrize("heading", ["Koordinaten", "Ort"])
def test_one_column_of_coordinates(cell, heading):
    """Latitude and longitude in one column are two numbers, by any usual separator."""
    text = f"Kunde\t{heading}\tMenge\nHub\t51, 13\t\nAda\t{cell}\t2\n"
    columns = {} if heading == "Koordinaten" else {"lat": heading, "lon": heading}
    reading = load(text, columns=columns)
    assert reading.instance.customers.tolist() == [[51.05, 13.73]]
    assert reading.instance.metric == "great_circle"
    assert reading.instance.columns == {}


def test_an_empty_cell_of_coordinates_is_named_once():
    """One column of places is one fault, and both coordinates can be corrected."""
    text = "Kunde;GPS;kg\nHub;51, 13;\nAda;;2\nBob;51.1, 13.1;3\n"
    columns = {"demand": "kg"}
    (doubt,) = load(text, columns=columns).doubts
    assert (doubt.text, doubt.columns) == ("row 3 (Ada): GPS is empty", ["lat", "lon"])
    fixed = {3: {"lat": "51,2", "lon": "13,2"}}
    reading = load(text, columns=columns, corrections=fixed)
    assert reading.instance.customers[0].tolist() == [51.2, 13.2]


def test_the_depot_may_be_the_last_row():
    """If the first row has a demand, the only row without one is the depot."""
    reading = load(book_of(("Lieferungen", [HEADINGS, *ROWS[1:], ROWS[0]])))
    assert reading.instance.depot_name == "Lager"
    assert reading.rows == [5, 2, 3, 4]
    assert "the depot is row 5 (Lager), which has no demand" in reading.notes
    two = [*ROWS[1:], ["Dom", 51.0, 13.0, None, 1], ROWS[0]]
    reading = load(book_of(("Lieferungen", [HEADINGS, *two])))
    assert reading.instance.depot_name == "Lager"  # by its name
    named = load(book_of(("Lieferungen", [HEADINGS, *ROWS])), depot="Ada")
    assert "the demand of the depot, 12.5, is ignored" in named.notes


def test_cells_come_out_as_they_went_in(tmp_path):
    """Postcodes, dates, times and percentages are written as Excel showed them."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["x", "y", "demand", "PLZ", "Datum", "ab", "MwSt", "Preis", "ok"])
    sheet.append([0, 0, None])
    when, hour = datetime.datetime(2026, 3, 12), datetime.time(8, 30)
    sheet.append([1.23456, 1, 2, 1169, when, hour, 0.19, 12.5, True])
    formats = [
        "0.00",
        "0",
        "0",
        "00000",
        "dd.mm.yyyy",
        "hh:mm",
        "0%",
        '0.00 "€"',
        "General",
    ]
    for cell, number_format in zip(sheet[3], formats, strict=True):
        cell.number_format = number_format
    file = io.BytesIO()
    book.save(file)
    instance = load(file.getvalue()).instance
    assert instance.customers[0, 0] == 1.23456  # what is computed with is not rounded
    shown = ["01169", "12.03.2026", "08:30", "19%", "12.50 €", "TRUE"]
    assert [texts[1] for texts in instance.columns.values()] == shown
    write_plan(Plan([[1]]), instance, tmp_path / "p.xlsx")
    written = openpyxl.load_workbook(tmp_path / "p.xlsx").worksheets[0]
    assert [cell.value for cell in written[2]][-6:] == shown


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (3411, "General", "3411"),
        (12.5, "0", "12.5"),
        (1169, '"D-"00000', "D-01169"),
        (0.075, "0.0%", "7.5%"),
        (-5, "000", "-005"),
        (1234.5, "#,##0.00\\ [$€-407]", "1234.50 €"),
        (1.5e10, "0.00E+00", "15000000000"),
        (False, "General", "FALSE"),
        ("text", "@", "text"),
        (datetime.datetime(2026, 3, 12), "mm-dd-yy", "2026-03-12"),
        (datetime.datetime(2026, 3, 12, 8, 5), "General", "2026-03-12 08:05"),
        (datetime.datetime(2026, 3, 12, 8, 5), "d.m.yy h:mm", "12.3.26 8:05"),
        (datetime.datetime(2026, 3, 12), "[$-407]dd. mmm yyyy", "12. Mar 2026"),
        (datetime.datetime(2026, 3, 12), "ddd d. mmmm", "Thu 12. March"),
        (datetime.datetime(2026, 3, 2), "dddd dd.mm.yy", "Monday 02.03.26"),
        (datetime.time(20, 5), "h:mm AM/PM", "8:05 PM"),
        (datetime.time(20, 5, 9), "mm:ss", "05:09"),
        (datetime.time(20, 5), "General", "20:05"),
        (datetime.time(0, 5), "h:mm AM/PM", "12:05 AM"),
        (datetime.time(12, 5), "hh:mm am/pm", "12:05 PM"),
        (datetime.time(9, 5, 3), "h:m:s", "9:5:3"),
        (
            datetime.datetime(2026, 3, 12, 8, 5, 9),
            "m/d/yyyy h:mm:ss",
            "3/12/2026 8:05:09",
        ),
        (datetime.date(2026, 3, 12), "yyy-mm-dd", "2026-03-12"),
        (datetime.datetime(2026, 3, 12), "mm.dd.;@", "03.12."),
        (datetime.time(8, 5), "hhh:mm", "08:05"),
        (7, "00", "07"),
        (7, "0", "7"),
        (-0.5, "0.0", "-0.5"),
        (1234567, "#,##0", "1234567"),
        (3.14159, '0.00 "m"', "3.14 m"),
        (5, '0 "kg";-0 "kg"', "5 kg"),
        (0.5, "00%", "50%"),
        (5, "[Red]0.0_)", "5.0"),
    ],
)
def test_a_cell_is_shown_as_excel_shows_it(value, number_format, shown):
    """The usual number formats are followed; others show the value."""
    assert shown_text(value, number_format) == shown
