"""A firm's own day on the page: vehicles of several sizes, shifts, minutes, windows."""

from __future__ import annotations

import io
import re

import openpyxl
import pytest

from .conftest import make_plan

pytestmark = pytest.mark.slow

STOPS = [
    ("Ada", 51.06, 13.70, 300, "08:00-12:00"),
    ("Bob", 51.07, 13.72, 300, None),
    ("Cay", 51.05, 13.80, 900, None),
    ("Dan", 51.04, 13.82, 900, "07:00-10:00"),
    ("Eva", 51.00, 13.75, 200, None),
]
VANS = [("Sprinter", 1, 850, "06:30", "15:00"), ("7,5 t", 1, 2400, "06:00", "14:00")]


def workbook() -> bytes:
    """An Excel file as firms have it, with a title and a sheet of vehicles."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Lieferungen"
    sheet.append(["Auslieferung am Dienstag"])
    sheet.append([])
    sheet.append(["Kunde", "Breite", "Länge", "Gewicht (kg)", "Lieferfenster"])
    sheet.append(["Lager", 51.05, 13.74])
    for row in STOPS:
        sheet.append(row)
    fleet = book.create_sheet("Fuhrpark")
    fleet.append(["Fahrzeug", "Anzahl", "Nutzlast (kg)", "Von", "Bis"])
    for row in VANS:
        fleet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def give(reader) -> None:
    """Choose the Excel file of the firm."""
    file = {"name": "firma.xlsx", "mimeType": "", "buffer": workbook()}
    reader.page.set_input_files("#file", file)
    reader.see("#plan").to_be_enabled()


def test_a_day_is_read_planned_changed_and_printed(open_page):
    """From an Excel file with a sheet of vehicles to sheets with times."""
    reader = open_page(locale="de-DE")
    give(reader)
    reader.see("#doubts").to_be_hidden()  # windows and shifts are considered
    reader.see("#vehicles").to_have_value("2")
    reader.see("[data-part=capacity] >> nth=1").to_have_value("2400")
    reader.see("[data-part=from] >> nth=0").to_have_value("06:30")
    reader.page.fill("#service_minutes", "10")
    reader.see("#form-verdict").to_contain_text("2 Fahrzeuge reichen.")
    reader.plan("0,5")
    reader.see(".tour").to_have_count(2)
    reader.see(".tour.late").to_have_count(0)
    reader.see(".tour-time >> nth=0").to_have_text(
        re.compile(r"\d\d:\d\d bis \d\d:\d\d \(.*\)")
    )
    loads = reader.page.locator(".tour-load").all_inner_texts()
    assert sorted(load.rpartition(" von ")[2] for load in loads) == [
        "2.400\xa0kg",
        "850\xa0kg",
    ]
    reader.see("#compare").to_be_hidden()  # another vehicle: of which size?
    reader.page.click(".tour-head >> nth=0")
    reader.see(".tour.selected .stop-time").not_to_have_count(0)
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheets = reader.page.locator(".sheet").all_text_contents()
    assert all("Ankunft" in sheet for sheet in sheets)
    assert {"Sprinter", "7,5 t"} == set(
        reader.page.locator(".sheet h2").all_text_contents()
    )
    reader.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    # The two tours swap their vehicles, and the van is overloaded.
    name = reader.page.locator(".tour.selected .driver select")
    other = {"Sprinter": "7,5 t", "7,5 t": "Sprinter"}[name.input_value()]
    name.select_option(other)
    reader.see(".tour.over").to_have_count(1)
    reader.see("#plan-warning").to_contain_text("1 Tour ist zu voll")
    reader.page.reload()
    reader.see(".tour.over").to_have_count(1)
    reader.see("#service_minutes").to_have_value("10")
    reader.see("[data-part=capacity] >> nth=1").to_have_value("2400")


def test_a_late_tour_is_red(open_page, address):
    """A tour that misses a window says so in the list, at the top and on its sheet."""
    lines = ["name,lat,lon,demand,window", "Depot,51,13,,"]
    lines += ["Ada,51.1,13,1,08:00-09:00", "Bob,51.5,13,1,08:00-09:30"]
    day = {"speed": 60, "shift": [480, 960], "service_minutes": 5}
    fleet = {"vehicles": 1, "capacity": 5}
    plan = make_plan(address, text="\n".join(lines), time_limit=0.2, **day, **fleet)
    assert plan["result"]["feasible"]
    reader = open_page(f"#plan={plan['id']}")
    reader.see(".tour.late").to_have_count(0)
    reader.page.click(".tour-head >> nth=0")
    reader.page.focus(".tour.selected .stop >> nth=0")  # Ada, then Bob
    reader.page.keyboard.press("Alt+ArrowDown")
    reader.see(".tour.late .tour-time").to_contain_text("late")
    reader.see("#plan-warning").to_have_text("1 tour is late.")
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    reader.see(".sheet-warning").to_have_text(
        "Late: this tour cannot be driven in time"
    )


def test_a_sheet_has_windows_and_each_address_once(open_page, address):
    """A driver sees the windows; a column that is empty on a sheet is left out."""
    lines = ["Kunde,lat,lon,Menge,Straße,PLZ/Ort,Lieferfenster,Bemerkung"]
    lines += ["Lager,51,13,,Hof 1,01067 Dresden,,"]
    lines += ["Imbiss,51.1,13,1,Weg 2,01069 Dresden,8-12 Uhr,"]
    lines += ["Imbiss,51.1,13.1,1,Weg 3,01069 Dresden,bis 14 Uhr,"]
    lines += ["Hotel,50.9,13.1,9,Weg 4,01069 Dresden,ab 9,Rampe"]
    fleet = {"vehicles": 2, "capacity": 10, "speed": 60, "shift": [360, 960]}
    plan = make_plan(address, text="\n".join(lines), time_limit=0.2, **fleet)
    reader = open_page(f"#plan={plan['id']}", locale="de-DE")
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheet = reader.page.locator(".sheet", has_text="Imbiss").first
    reader.expect(sheet.locator("td.who")).to_contain_text(["Imbiss", "Imbiss"])
    texts = sheet.locator("td.who").all_text_contents()
    assert sorted(texts)[:2] == [
        "ImbissWeg 2, 01069 Dresden",
        "ImbissWeg 3, 01069 Dresden",
    ]
    times = " ".join(sheet.locator("td.short").all_text_contents())
    assert "08:00–12:00" in times and "bis 14:00" in times
    hotel = "Hotel" in sheet.text_content()
    assert ("Bemerkung" in sheet.text_content()) == hotel


def test_a_fleet_too_small_says_so_while_it_is_planned_and_can_be_stopped(open_page):
    """No plan is reported meanwhile; Stop keeps the customers that are served."""
    reader = open_page()
    rows = [f"S{i},{i % 7},{i % 5},4" for i in range(30)]
    reader.choose("name,x,y,demand\nDepot,3,3,\n" + "\n".join(rows))
    reader.set_fleet(3, 20)
    reader.page.fill("#time_limit", "100")
    reader.page.click("#plan")
    said = "Searching a plan for as many customers as possible"
    reader.see("#status").to_have_text(said)
    reader.page.click("#cancel")
    reader.see("#status").to_contain_text("the best plan so far")
    reader.see(".tour").to_have_count(3)
    reader.see("#left-out-title").to_have_text("15 customers left out")


def test_rows_of_vehicles_without_numbers_are_names(reader):
    """With names only, all vehicles are alike; a number makes them differ."""
    reader.take_example()
    reader.name_vehicles("Anna", "Ben")
    reader.see("#vehicles").to_have_value("7")
    reader.see("#vehicles").to_be_editable()
    reader.page.locator("[data-part=count]").nth(0).fill("6")
    reader.see("#vehicles").to_have_value("7")
    reader.see("#vehicles").not_to_be_editable()
    reader.page.locator("[data-part=capacity]").nth(1).fill("400")
    reader.see("#filling-text").to_contain_text("of 5,500: 101 % full")
    reader.page.locator("[data-part=from]").nth(1).fill("25:00")
    reader.page.click("#plan")
    reader.see("[data-part=from] >> nth=1").to_be_focused()
    reader.see("[data-part=from] >> nth=1").to_have_attribute("aria-invalid", "true")


@pytest.mark.parametrize(
    ("typed", "minutes"),
    [("6", 360), ("6:30", 390), ("06.30", 390), ("24:00", 1440), ("", None)],
)
def test_times_of_day_are_read(page, typed, minutes):
    """Hours, with minutes behind a colon or a point."""
    read = """async (text) => (await import("/static/times.js")).readClock(text)"""
    assert page.evaluate(read, typed) == minutes


@pytest.mark.parametrize("typed", ["24:01", "6:60", "soon", "6:3"])
def test_what_is_not_a_time_of_day_is_refused(page, typed):
    """Neither is a number of minutes above 59."""
    read = """async (text) => Number.isNaN(
      (await import("/static/times.js")).readClock(text))"""
    assert page.evaluate(read, typed)


def test_the_detour_factor_lengthens_and_is_said(reader):
    """A factor of 2 doubles the length, and the page says what the length is."""
    reader.paste("name,lat,lon,demand\nDepot,51,13,\nAda,51.1,13,1\nBob,51,13.2,1")
    reader.page.click("text=Ways and units")
    reader.set_fleet(1, 2)
    reader.plan()
    reader.see("#cost-way").to_have_text("in a straight line")
    before = float(reader.text("#cost"))
    reader.page.fill("#detour", "2")
    address = reader.page.url
    reader.page.click("#plan")
    reader.page.wait_for_url(lambda url: url != address)
    reader.see("#status").to_contain_text("Finished")
    reader.see("#cost-way").to_have_text("in a straight line, times 2")
    assert float(reader.text("#cost")) == pytest.approx(2 * before, rel=0.01)
