"""A firm's whole day: addresses, roads, vans of three sizes, windows, print, GPX."""

from __future__ import annotations

import io
import json
import random
import xml.etree.ElementTree as ElementTree
from urllib.request import urlopen

import openpyxl
import pytest

pytest.importorskip("geopy", reason="geopy is not installed")

from tests.browser.conftest import serving
from tests.nominatim import serving as serving_places
from tests.town import corner

pytestmark = pytest.mark.slow

GPX = "{http://www.topografix.com/GPX/1/1}"
UNKNOWN = "Nirgends 9, 01099 Gitterstadt"
VANS = [
    ("Caddy", 3, 400, "07:00", "15:00"),
    ("Sprinter", 3, 900, "07:00", "15:00"),
    ("7,5 t", 1, 2400, "06:00", "14:00"),
]


def stops() -> dict[str, tuple[str, tuple[float, float], int, str | None]]:
    """Return 24 customers: address, place, weight and window by name."""
    rng = random.Random(4)
    crossings = rng.sample([(r, c) for r in range(20) for c in range(20)], 24)
    return {
        f"Kunde {i:02d}": (
            f"Gasse {i}, 01099 Gitterstadt",
            corner(row, column),
            rng.randint(60, 250),
            rng.choice(["08:00-12:00", "09:00-13:00", None]),
        )
        for i, (row, column) in enumerate(crossings, 1)
    }


def workbook() -> bytes:
    """Return an Excel file with two sheets, one of the stops, one of the vehicles."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Lieferungen"
    sheet.append(["Kunde", "Straße", "PLZ", "Ort", "Gewicht (kg)", "Lieferfenster"])
    sheet.append(["Lager", "Am Markt 1", "01099", "Gitterstadt"])
    for name, (address, _, weight, window) in stops().items():
        street = address.partition(",")[0]
        sheet.append([name, street, "01099", "Gitterstadt", weight, window])
    sheet.append(["Insel", "Nirgends 9", "01099", "Gitterstadt", 50, None])
    fleet = book.create_sheet("Fuhrpark")
    fleet.append(["Fahrzeug", "Anzahl", "Nutzlast (kg)", "Von", "Bis"])
    for row in VANS:
        fleet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@pytest.fixture
def firm(osrm):
    """The address of a server with roads, and with a geocoder that lacks one place."""
    with serving_places() as nominatim:
        nominatim.add("Am Markt 1, 01099 Gitterstadt", corner(10, 10))
        for address, place, _, _ in stops().values():
            nominatim.add(address, place)
        geocoder = {"geocoder": nominatim.url, "geocoder_pause": 0.0}
        with serving(roads=osrm, workers=1, **geocoder) as address:
            yield address


def document_of(reader, firm: str) -> dict:
    """Return the plan that the page shows, as the server keeps it."""
    id = reader.page.url.rpartition("plan=")[2]
    with urlopen(f"{firm}plans/{id}") as answer:
        return json.load(answer)


def test_a_firms_day(open_page, firm):
    """From an Excel file with addresses to sheets and GPX, by road and in time."""
    reader = open_page(at=firm, locale="de-DE")
    file = {"name": "firma.xlsx", "mimeType": "", "buffer": workbook()}
    reader.page.set_input_files("#file", file)

    # What the geocoder does not know is asked about, and placed by a click on the map.
    reader.see("#doubts").to_contain_text(UNKNOWN)
    reader.page.click("[data-place]")
    reader.page.click("#canvas")
    reader.page.click("#go-on")
    reader.see("#doubts").to_be_hidden()
    reader.see("#vehicles").to_have_value("7")
    reader.page.fill("#service_minutes", "5")
    reader.see("#plan").to_be_enabled()

    reader.plan("1")
    reader.see("#cost-way").to_contain_text("Straße")
    reader.see(".tour.late").to_have_count(0)
    plan = document_of(reader, firm)
    assert plan["result"]["feasible"] and plan["result"]["metric"] == "road"
    assert plan["result"]["customers"] == 25
    loads = [(VANS[t["vehicle_type"]][2], t["load"]) for t in plan["result"]["tours"]]
    assert all(load <= capacity for capacity, load in loads)

    # The dispatcher takes a customer out of its tour and puts it into another one.
    reader.page.click(".tour-head >> nth=0")
    stop = reader.page.locator(".tour.selected .stop-name >> nth=0").inner_text()
    before = len(plan["result"]["tours"][0]["customers"])
    reader.page.click(f'[aria-label="{stop} verschieben"]')
    # Tours are sorted by detour, so its own tour may stand anywhere in the list.
    other = reader.page.evaluate(
        """() => {
          const { options, value } = document.getElementById("move-tour");
          return [...options].find((option) => option.value !== value).value;
        }"""
    )
    reader.page.select_option("#move-tour", other)
    reader.page.click("#move .primary")
    reader.see("#edited").not_to_have_text("")
    reader.page.wait_for_function(
        """async () => {
          const id = new URLSearchParams(location.hash.slice(1)).get("plan");
          return (await (await fetch(`/plans/${id}`)).json()).edited !== null;
        }"""
    )
    edited = document_of(reader, firm)["edited"]
    assert edited["metric"] == "road"
    assert stop not in edited["tours"][0]["names"] or before == 1

    # Each driver has a sheet with times, and each tour a track along the roads.
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheets = reader.page.locator(".sheet").all_text_contents()
    assert len(sheets) >= len(edited["tours"])
    assert all("Ankunft" in sheet for sheet in sheets[: len(edited["tours"])])
    reader.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    with reader.page.expect_download() as download:
        reader.page.click("[data-download=gpx]")
    root = ElementTree.parse(download.value.path()).getroot()
    tracks = root.findall(f"{GPX}trk")
    assert len(tracks) == len(edited["tours"])
    points = root.findall(f"{GPX}trk/{GPX}trkseg/{GPX}trkpt")
    assert len(points) > 24 + 2 * len(tracks)
