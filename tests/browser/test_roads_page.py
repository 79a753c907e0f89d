"""Addresses and roads on the page, with a real OSRM server and a geocoder."""

from __future__ import annotations

import re

import pytest

from tests import nominatim
from tests.town import corner

from .conftest import serving

pytestmark = pytest.mark.slow

PLACES = {"Markt 1": (2, 3), "Markt 2": (15, 4), "Markt 3": (9, 18), "Markt 4": (6, 7)}
TABLE = "Kunde;Straße;Ort;Menge\nHof;Hof 1;Stadt;\n" + "".join(
    f"{name};{name};Stadt;1\n" for name in [*PLACES, "Gasse 9"]
)


@pytest.fixture(scope="module")
def by_road(osrm):
    """The address of a server with roads and a geocoder that knows all but one."""
    with nominatim.serving() as geocoder:
        geocoder.add("Hof 1, Stadt", corner(10, 10))
        for address, place in PLACES.items():
            geocoder.add(f"{address}, Stadt", corner(*place))
        settings = {"roads": osrm, "geocoder": geocoder.url, "geocoder_pause": 0.0}
        with serving(workers=1, **settings) as address:
            yield address


def test_addresses_are_found_placed_and_planned_by_road(open_page, by_road):
    """An unknown address is placed by a click; tours follow the roads, also as GPX."""
    reader = open_page(at=by_road)
    reader.see("#needs").to_have_text("With latitude and longitude, or addresses")
    reader.choose(TABLE)
    reader.see("#doubts-list li").to_have_count(1)
    reader.page.click("[data-place]")
    box = reader.page.locator("#canvas").bounding_box()
    middle = {"x": box["width"] / 2, "y": box["height"] / 2}
    with reader.page.expect_response("**/places") as kept:
        reader.page.locator("#canvas").click(position=middle)
    assert kept.value.ok
    reader.page.click("#go-on")
    reader.see("#loaded-count").to_have_text("5 customers")
    reader.see("#straight").to_be_hidden()  # roads have lengths and times of their own
    reader.set_fleet(2, 3)
    with reader.page.expect_response("**/lines") as lines:
        reader.plan()
    reader.see("#cost-way").to_have_text("by road")
    reader.see(".tour-time >> nth=0").to_have_text(re.compile(r"\d+\smin"))
    tours = lines.value.json()["tours"]
    assert len(tours) == 2 and all(len(line) > 8 for line in tours)
    with reader.page.expect_download() as download:
        reader.page.click("[data-download=gpx]")
    assert "<trkpt" in download.value.path().read_text(encoding="utf-8")
    # The address is known for ever.
    reader.page.click("#change")
    reader.choose(TABLE)
    reader.see("#loaded-count").to_have_text("5 customers")
    reader.see("#doubts").to_be_hidden()


def test_without_a_road_straight_lines_are_offered(open_page, by_road):
    """A customer far from all roads fails the plan, and one click plans without."""
    reader = open_page(at=by_road)
    lat, lon = corner(3, 3)
    depot, near = f"Hof,{lat},{lon},", f"Ada,{lat + 0.002:.4f},{lon},1"
    reader.choose(f"name,lat,lon,demand\n{depot}\n{near}\nInsel,50.6,13.1,1\n")
    reader.set_fleet(1, 2)
    reader.page.fill("#time_limit", "0.1")
    reader.page.click("#plan")
    reader.see("#result-error").to_contain_text("No road")
    reader.page.click("#straight-lines")
    reader.see("#status").to_contain_text("Finished")
    reader.see("#cost-way").to_have_text("in a straight line")
