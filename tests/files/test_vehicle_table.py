"""Tests of fleets as tables."""

from __future__ import annotations

import re

import pytest

import fixedfleet as ff
from fixedfleet.files import ReadOptions, gpx_files, parse, read_vehicle_types
from fixedfleet.files.excel import format_excel
from fixedfleet.files.plan_tables import plan_rows, total_rows
from fixedfleet.files.table import format_csv
from fixedfleet.files.vehicle_table import parse_vehicle_types, vehicle_rows

GERMAN = """Fahrzeug;Anzahl;Nutzlast (kg);Fixkosten;Kosten je km;von;bis;TÜV
Sprinter;2;850;20;0,5;06:00;14:00;2027
7,5 t;;2400;90;1,2;7;15:30;
;;;;;;;
"""
STOPS = [
    ["name", "lat", "lon", "demand", "minutes", "from", "to", "priority"],
    ["depot", 51.0, 13.0, "", "", "06:00", "18:00", ""],
    ["Ada", 51.1, 13.1, 5, 4, "08:00", "10:00", 2],
    ["Bob", 51.2, 13.2, 6, "", "", "12:00", ""],
    ["Cem", 51.0, 13.2, 3, 8, "", "", 1],
]
VANS = [["name", "count", "capacity"], ["small", 2, 6], ["large", 1, 9]]


def test_a_german_table_of_vehicles_is_read():
    """Name, number, capacity, costs and shift; an empty number is 1."""
    types, notes = parse_vehicle_types(GERMAN)
    assert types == [
        ff.VehicleType(
            name="Sprinter",
            count=2,
            capacity=850,
            fixed_cost=20,
            cost_per_distance=0.5,
            shift=(360, 840),
        ),
        ff.VehicleType(
            name="7,5 t",
            capacity=2400,
            fixed_cost=90,
            cost_per_distance=1.2,
            shift=(420, 930),
        ),
    ]
    assert notes == ["columns of the vehicles ignored: TÜV"]


def test_drivers_shifts_and_sums_of_a_fuhrpark():
    """Driver and number plate are one name, and the sum is not a vehicle."""
    table = (
        "Fuhrpark 2026\n\nKennzeichen;Fahrer;Nutzlast (kg);Schicht von;Schicht bis\n"
        "DD-HF 1;Emil;1400;6:00;15:00\nDD-HF 2;;850;6:30;14:00\nSumme;;2250;;\n"
    )
    types, notes = parse_vehicle_types(table)
    assert types == [
        ff.VehicleType(name="Emil (DD-HF 1)", capacity=1400, shift=(360, 900)),
        ff.VehicleType(name="DD-HF 2", capacity=850, shift=(390, 840)),
    ]
    assert notes == []


def test_a_capacity_that_may_be_a_thousand_is_not_guessed():
    """1.400 kg is not a van for 1.4 kg."""
    said = r"row 2 of the vehicles: Zuladung is '1\.400 kg', which could be"
    with pytest.raises(ff.InputError, match=said):
        parse_vehicle_types("Fahrzeug;Zuladung\nSprinter;1.400 kg\nCaddy;650 kg\n")


def test_a_fleet_that_is_written_is_read_again():
    """Excel and CSV hold all of a vehicle type."""
    types, _ = parse_vehicle_types(GERMAN)
    rows = vehicle_rows(types)
    assert parse_vehicle_types(format_csv(rows))[0] == types
    assert parse_vehicle_types(format_excel(rows))[0] == types


def test_a_vehicle_without_a_shift_has_a_cell_for_each_heading():
    """Its two cells of the shift are empty, and it is read again without a shift."""
    types = [ff.VehicleType(name="van", count=2, capacity=9)]
    heading, row = vehicle_rows(types)
    assert row == ["van", 2, 9, 0.0, 1.0, "", ""]
    assert len(row) == len(heading)
    assert list(parse_vehicle_types(format_csv([heading, row]))[0]) == types


@pytest.mark.parametrize(
    ("table", "shift"),
    [
        ("capacity,to\n5,14:00\n", (0, 840)),
        ("capacity,from,to\n5,,14:00\n", (0, 840)),
        ("capacity,shift\n5,6-14\n", (360, 840)),
        ("capacity,shift\n5,bis 14 Uhr\n", (0, 840)),
        ("capacity,shift\n5,\n", None),
    ],
)
def test_a_shift_may_state_its_end_only(table, shift):
    """It then begins at midnight; one column may have both ends."""
    types, notes = parse_vehicle_types(table)
    assert [(one.shift, one.count) for one in types] == [(shift, 1)]
    assert notes == []


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("name,count\nvan,1\n", "no column 'capacity' for the vehicles"),
        ("name,capacity\nvan,\n", "no vehicles: write a row"),
        ("name,capacity\nvan,0\n", "row 2 of the vehicles: capacity of vehicle type"),
        ("name,capacity\nvan,big\n", "row 2 of the vehicles: capacity is 'big'"),
        ("count,capacity\n0,5\n", "row 2 of the vehicles: count is"),
        ("capacity,from,to\n5,8,\n", "row 2 of the vehicles: the shift has no end"),
        ("capacity,shift\n5,ab 8\n", "row 2 of the vehicles: the shift has no end"),
        ("capacity,from,to\n5,9,8\n", "row 2 of the vehicles: shift of the vehicle"),
    ],
)
def test_what_is_wrong_with_a_vehicle_is_said_with_its_row(table, said):
    """Nothing about the fleet is guessed."""
    with pytest.raises(ff.InputError) as caught:
        parse_vehicle_types(table)
    assert str(caught.value).startswith(said)


def test_a_file_of_vehicles_is_read(tmp_path, caplog):
    """The path is named in errors, and ignored columns are logged."""
    path = tmp_path / "fleet.csv"
    path.write_text(GERMAN, encoding="utf-8")
    assert len(read_vehicle_types(path)) == 2
    assert "TÜV" in caplog.text
    path.write_text("name\nx\n")
    with pytest.raises(ff.InputError, match=r"fleet\.csv: no column 'capacity'"):
        read_vehicle_types(path)


@pytest.mark.parametrize("title", ["vehicles", "Fuhrpark", "FAHRZEUGE"])
def test_a_sheet_of_vehicles_is_the_fleet(title):
    """An Excel file with two sheets has customers and vehicles."""
    content = format_excel(STOPS, {title: VANS})
    reading = parse(content)
    assert [one.name for one in reading.instance.fleet] == ["small", "large"]
    assert reading.instance.vehicles == 3
    assert any("vehicle types from sheet" in note for note in reading.notes)
    assert reading.missing == []


def test_the_callers_fleet_wins_over_the_sheet_and_a_note_says_so():
    """Both numbers must be given; one of them alone is refused."""
    content = format_excel(STOPS, {"vehicles": VANS})
    reading = parse(content, ReadOptions(vehicles=2, capacity=20))
    assert reading.instance.vehicle_types is None
    assert "the file's vehicle types are not used: others are asked for" in (
        reading.notes
    )
    with pytest.raises(ff.InputError, match="leave vehicles= out, or give capacity="):
        parse(content, ReadOptions(vehicles=2))
    other = [ff.VehicleType(capacity=20)]
    assert parse(content, ReadOptions(vehicle_types=other)).instance.vehicles == 1


def test_wrong_minutes_per_stop_name_their_argument():
    """Its name is not the one in the message."""
    options = ReadOptions(vehicles=2, capacity=20, speed=30, service_minutes=-5)
    with pytest.raises(ff.InputError, match="minutes per stop is -5") as caught:
        parse(format_excel(STOPS), options)
    assert caught.value.field == "service_minutes"


def test_a_sheet_of_vehicles_without_capacities_is_not_used():
    """A note says why."""
    content = format_excel(STOPS, {"Fuhrpark": [["driver", "phone"], ["Anna", "1"]]})
    reading = parse(content, ReadOptions(vehicles=2, capacity=20))
    assert any("sheet 'Fuhrpark' is not used: no column" in n for n in reading.notes)


def test_a_fault_in_the_sheet_of_vehicles_is_a_doubt():
    """The fleet would be missed in silence otherwise."""
    vans = [["Fahrzeug", "Zuladung"], ["Sprinter", "1.400 kg"], ["Caddy", "650 kg"]]
    content = format_excel(STOPS, {"Fuhrpark": vans})
    reading = parse(content, ReadOptions(allow_missing=True, speed=30))
    (doubt,) = reading.doubts
    assert doubt.kind == "fleet"
    said = "sheet 'Fuhrpark' is not used: row 2 of the vehicles: Zuladung is '1.400 kg'"
    assert doubt.text.startswith(said)
    assert {*reading.missing} == {"vehicles", "capacity"}


def test_columns_of_times_and_priority_are_read():
    """With a speed, minutes, windows and the depot's hours are considered."""
    reading = parse(format_excel(STOPS, {"vehicles": VANS}), ReadOptions(speed=30))
    instance = reading.instance
    assert instance.speed == 0.5
    assert instance.time_unit == "min"
    assert instance.service_times.tolist() == [4, 0, 8]
    assert instance.windows.tolist() == [[480, 600], [0, 720], [0, float("inf")]]
    assert instance.priorities.tolist() == [2, 0, 1]
    assert {one.shift for one in instance.fleet} == {(360, 1080)}
    assert instance.columns == {}
    assert reading.doubts == []


def test_minutes_and_shift_of_the_caller_fill_what_the_file_leaves_open():
    """A shift makes one vehicle type of vehicles that are alike."""
    options = ReadOptions(
        vehicles=2, capacity=20, speed=30, service_minutes=5, shift=(420, 900)
    )
    instance = parse(format_excel(STOPS), options).instance
    assert instance.service_times.tolist() == [4, 5, 8]
    assert instance.fleet == (ff.VehicleType(count=2, capacity=20, shift=(420, 900)),)


def test_a_shift_without_a_begin_is_refused_if_there_are_windows():
    """8 hours from midnight is not what was meant."""
    options = ReadOptions(vehicles=2, capacity=20, speed=30, shift=(0, 480))
    with pytest.raises(ff.InputError, match="does not say when it begins"):
        parse(format_excel(STOPS), options)


def test_times_without_a_speed_are_not_considered_and_a_doubt_says_so():
    """The columns stay in the table, and nothing is timed."""
    vans = [["name", "capacity", "shift"], ["van", 20, "06:00-14:00"]]
    reading = parse(format_excel(STOPS, {"vehicles": vans}))
    assert reading.instance.is_plain
    assert list(reading.instance.columns) == ["minutes", "from", "to"]
    said = " ".join(doubt.text for doubt in reading.doubts)
    assert "'minutes' and 'from' and 'to' look like times" in said
    assert "shifts are not considered: give a speed" in said


def test_a_window_that_cannot_be_read_is_open_and_a_doubt_says_so():
    """The customer is still planned."""
    stops = [list(row) for row in STOPS]
    stops[2][5] = "early"
    options = ReadOptions(vehicles=2, capacity=20, speed=30)
    reading = parse(format_excel(stops), options)
    assert reading.instance.windows[0].tolist() == [0, float("inf")]
    (doubt,) = reading.doubts
    assert "row 3: from is 'early', not a time of day" in doubt.text


def test_one_column_may_have_the_whole_window():
    """Lieferfenster 08:00-12:00 is recognised."""
    table = "x,y,demand,Lieferfenster\n0,0,0,\n1,1,1,8-12 Uhr\n2,2,1,ab 9\n"
    options = ReadOptions(vehicles=1, capacity=9, speed=60)
    instance = parse(table, options).instance
    assert instance.windows.tolist() == [[480, 720], [540, float("inf")]]


def test_a_day_in_excel_is_written_and_read_again(tmp_path):
    """Vehicle types, times and priorities survive; a CSV file cannot hold the types."""
    instance = parse(
        format_excel(STOPS, {"vehicles": VANS}), ReadOptions(speed=30)
    ).instance
    ff.files.write_instance(instance, tmp_path / "day.xlsx")
    assert ff.read(tmp_path / "day.xlsx") == instance
    ff.files.write_instance(instance, tmp_path / "day.json")
    assert ff.read(tmp_path / "day.json") == instance
    with pytest.raises(ff.InputError, match="cannot hold vehicle types"):
        ff.files.write_instance(instance, tmp_path / "day.csv")


@pytest.mark.parametrize("extension", [".csv", ".xlsx", ".json", ".sol"])
def test_a_plan_keeps_its_vehicle_types_in_every_file(extension, tmp_path):
    """The file names the vehicle of each tour."""
    instance = parse(
        format_excel(STOPS, {"vehicles": VANS}), ReadOptions(speed=300)
    ).instance
    plan = ff.Plan([[2], [1, 3]], [0, 1])
    ff.write_plan(plan, instance, tmp_path / f"plan{extension}")
    assert ff.read_plan(tmp_path / f"plan{extension}", instance) == plan


def test_routes_for_navigation_have_the_names_of_vehicles(tmp_path):
    """Two vehicles of one type are told apart by the numbers of their tours."""
    instance = parse(format_excel(STOPS, {"vehicles": VANS})).instance
    ff.write_plan(ff.Plan([[2], [1, 3]], [0, 1]), instance, tmp_path / "p.gpx")
    text = (tmp_path / "p.gpx").read_text()
    assert "<rte><name>Tour 1, small</name>" in text
    assert "<rte><name>Tour 2, large</name>" in text


def test_names_that_are_given_replace_those_of_vehicle_types():
    """A tour without a given name then has its number alone."""
    instance = parse(format_excel(STOPS, {"vehicles": VANS})).instance
    plan = ff.Plan([[2], [1, 3]], [0, 1])
    text = gpx_files.format_plan(plan, instance, ["Emil", ""])
    assert re.findall("<rte><name>(.*?)</name>", text) == ["Emil", "Tour 2"]


def test_a_plan_as_a_table_has_vehicles_and_times():
    """Arrival, begin and end of the service and the window stand beside each stop."""
    instance = parse(
        format_excel(STOPS, {"vehicles": VANS}), ReadOptions(speed=300)
    ).instance
    plan = ff.Plan([[2], [1]], [0, 1])
    head, first, second, unserved = plan_rows(plan, instance)
    named = dict(zip(head, second, strict=True))
    assert named["vehicle"] == "large"
    assert named["service begins"] == "08:00"
    assert named["departure"] == "08:04"
    assert named["window"] == "08:00-10:00"
    assert dict(zip(head, first, strict=True))["vehicle"] == "small"
    assert unserved[:3] == ["unserved", "", 3]
    head, first, *_ = total_rows(plan, instance)
    named = dict(zip(head, first, strict=True))
    assert (named["vehicle"], named["departure"]) == ("small", "06:00")
    assert named["capacity"] == 6


def test_the_last_row_of_the_totals_sums_up_all_tours():
    """Costs are summed as loads and lengths are; vehicles and times have no sum."""
    instance = parse(
        format_excel(STOPS, {"vehicles": VANS}), ReadOptions(speed=300)
    ).instance
    plan = ff.Plan([[2], [1]], [0, 1])
    head, *tours, last = total_rows(plan, instance)
    named = dict(zip(head, last, strict=True))
    assert (named["tour"], named["stops"], named["load"]) == ("all", 2, 11)
    assert (named["capacity"], named["room left"]) == (15, 4)
    assert named["cost"] == round(plan.cost(instance), 3)
    place = next(i for i, word in enumerate(head) if word.startswith("length"))
    assert last[place] == round(plan.length(instance), 3) != plan.length(instance)
    lengths = plan.tour_lengths(instance)
    assert [tour[place] for tour in tours] == [round(one, 3) for one in lengths]
    costs = [tour[head.index("cost")] for tour in tours]
    assert named["cost"] == pytest.approx(sum(costs), abs=0.002)
    assert [named[word] for word in ("vehicle", "departure", "return")] == [""] * 3


def test_a_vehicle_that_is_not_of_the_fleet_is_named(tmp_path):
    """A plan of another fleet is not taken for one of this fleet."""
    instance = parse(format_excel(STOPS, {"vehicles": VANS})).instance
    path = tmp_path / "plan.csv"
    path.write_text("tour,stop,customer,vehicle\n1,1,1,giant\n")
    with pytest.raises(ff.InputError, match="vehicle 'giant' is not one of the fleet"):
        ff.read_plan(path, instance)
