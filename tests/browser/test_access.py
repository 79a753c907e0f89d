"""The page by keyboard, on a phone, in the dark scheme and on paper."""

from __future__ import annotations

import re

import pytest

from .conftest import make_plan

pytestmark = pytest.mark.slow

SHOT = "<img src=x onerror='window.shot=1'>"
NAMES = f"""name,lat,lon,demand
<b>Depot</b>,51.39,12.29,
{SHOT},51.34,12.37,3
"<script>window.shot=1</script>",51.35,12.38,4
"""
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True}


def tab_to(reader, selector: str, key: str = "Tab") -> None:
    """Press Tab until an element has the focus, and check that the focus is visible."""
    for _ in range(80):
        reader.page.keyboard.press(key)
        if reader.page.locator(f"{selector}:focus").count():
            shown = """(element) => {
              // An unseen field has a label that shows the focus for it.
              const unseen = element.classList.contains("unseen");
              const label = element.closest("label") ?? element.nextElementSibling;
              const seen = unseen ? label : element;
              return getComputedStyle(seen).outlineStyle;
            }"""
            assert reader.page.locator(selector).first.evaluate(shown) != "none"
            return
    raise AssertionError(f"{selector} is not reached by Tab")


def test_all_can_be_done_by_keyboard(reader):
    """From an example to a plan, a tour, a stop and a file, without a pointer."""
    tab_to(reader, "#file")
    tab_to(reader, ".paste summary")
    tab_to(reader, "[data-example=leipzig_parcels]")
    reader.page.keyboard.press("Enter")
    reader.see("#plan").to_be_focused()
    # Back over names, the parts of the date and the cost of a vehicle to the seconds.
    tab_to(reader, "#time_limit", key="Shift+Tab")
    reader.page.keyboard.type("0.1")
    reader.page.keyboard.press("Enter")
    reader.see("#status").to_contain_text("Finished")
    tab_to(reader, "#closer")
    tab_to(reader, ".option :checked")
    tab_to(reader, ".tour:nth-child(2) .tour-head")
    reader.page.keyboard.press("Enter")
    tab_to(reader, ".tour:nth-child(2) .stop")
    reader.see("#tip").to_contain_text(re.compile(r"Stop 1 of \d+ in tour 2"))
    reader.page.keyboard.press("Escape")
    reader.see("#tip").to_be_hidden()
    tab_to(reader, "[data-download=csv]")
    with reader.page.expect_download() as download:
        reader.page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".csv")
    tab_to(reader, "#print")
    tab_to(reader, "#change")  # around the end: nothing holds the focus


def test_the_outcome_is_announced(planned):
    """A screen reader is told the outcome, and what the map shows."""
    announced = planned.see("#announcer")
    announced.to_have_text(re.compile(r"Finished: 7 tours, [\d.]+\skm"))
    caption = planned.page.get_attribute("#canvas", "aria-label")
    assert caption.startswith("Map of 7 tours to 63 customers")


def test_a_phone_shows_everything_in_one_column(open_page):
    """At 360 pixels nothing is wider than the screen, before and after planning."""
    reader = open_page(**PHONE)
    width = "document.documentElement.scrollWidth"
    assert reader.page.evaluate(width) == 360
    reader.take_example()
    assert reader.page.evaluate(width) == 360
    reader.plan()
    reader.see(".option").to_have_count(4)
    assert reader.page.evaluate(width) == 360
    for selector in ("#map", "#summary", "#tours", "#fleet-form"):
        box = reader.page.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 360


def test_a_tap_shows_a_customer(open_page, finished):
    """On a touch screen a tap shows a customer, and does not select a tour."""
    reader = open_page(finished, **PHONE)
    reader.page.locator("#canvas").tap(position=reader.spot_of(1))
    reader.see("#tip strong").to_have_text("Buchhandlung Grimmaische Straße 12")
    reader.see(".tour.selected").to_have_count(0)
    reader.page.locator(".tour-head").first.tap()
    reader.see(".tour.selected").to_have_count(1)


CORNER = """async (dark) => {
  const canvas = document.getElementById("canvas");
  for (;;) {  // until the corner of the map is what it should be
    const corner = canvas.getContext("2d").getImageData(3, 3, 1, 1).data;
    const light = Math.max(corner[0], corner[1], corner[2]);
    if (corner[3] && (dark ? light < 60 : light > 200)) return true;
    await new Promise((done) => requestAnimationFrame(done));
  }
}"""


def test_the_dark_scheme_reaches_the_map(open_page, finished):
    """In the dark scheme page and map are dark, and they follow a change at once."""
    reader = open_page(finished, color_scheme="dark")
    back = reader.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(map(int, re.findall(r"\d+", back))) < 60
    assert reader.page.evaluate(CORNER, True)
    reader.page.emulate_media(color_scheme="light")
    assert reader.page.evaluate(CORNER, False)


def test_markup_in_names_is_shown_as_text(reader):
    """Markup in a name is shown as text everywhere."""
    reader.paste(NAMES)
    reader.set_fleet(1, 10)
    reader.plan()
    reader.page.click(".tour-head")
    names = reader.page.locator(".stop-name").all_inner_texts()
    assert sorted(names) == [SHOT, "<script>window.shot=1</script>"]
    reader.page.hover("#canvas", position=reader.spot_of(0))
    reader.see("#tip strong").to_have_text("<b>Depot</b>")
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert "<b>Depot</b>" in reader.page.text_content(".sheet")
    assert reader.page.locator("img").count() == 0
    assert reader.page.evaluate("window.shot") is None


def test_nobody_is_shut_out(open_page, finished):
    """axe-core finds no fault before planning, while editing and on a phone."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()

    def faults(reader):
        violations = axe.run(reader.page).response["violations"]
        return [
            (fault["id"], [node["html"] for node in fault["nodes"][:3]])
            for fault in violations
        ]

    assert faults(open_page()) == []
    for options, schemes in (({}, ("light", "dark")), (PHONE, ("light",))):
        reader = open_page(finished, **options)
        reader.page.click(".tour:nth-child(2) .tour-head")
        reader.page.click(".tour:nth-child(2) .lock")
        reader.see(".tour.locked").to_have_count(1)
        for scheme in schemes:
            reader.page.emulate_media(color_scheme=scheme)
            assert faults(reader) == []
        reader.page.click(".tour:nth-child(2) .lock")
        reader.see(".tour.locked").to_have_count(0)
        reader.page.click(".tour:nth-child(2) .stop-menu >> nth=0")
        for scheme in schemes:
            reader.page.emulate_media(color_scheme=scheme)
            assert faults(reader) == []
        reader.page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_ends_where_its_cards_end(open_page, finished, width):
    """There is nothing to scroll to below the cards, and no word of the head breaks."""
    viewport = {"width": width, "height": 800}
    reader = open_page(finished, locale="de-DE", viewport=viewport)
    reader.see(".tour").not_to_have_count(0)
    below = """() => {
      const {bottom} = document.querySelector("main").getBoundingClientRect();
      const {scrollHeight} = document.documentElement;
      return scrollHeight - Math.max(innerHeight, bottom + scrollY);
    }"""
    assert reader.page.evaluate(below) < 40
    lines = """(name) => {
      const range = document.createRange();
      range.selectNodeContents(document.querySelector(name));
      return range.getClientRects().length;
    }"""
    assert [reader.page.evaluate(lines, name) for name in ("h1", "#language")] == [1, 1]


def test_long_tours_have_sheets_without_spilled_pages(open_page, address):
    """Tours of 24 stops fit on one page each, with box, phone, name and date."""
    rows = ["name,x,y,demand,phone,remarks", "Depot,0,0,,,"]
    rows += [
        f"Grocery {i} in the old town,{i % 40},{i % 7},1,0341 {i},Ring twice please"
        for i in range(1, 145)
    ]
    names = [f"Van {letter}" for letter in "ABCDEF"]
    body = {"text": "\n".join(rows), "vehicles": 6, "capacity": 24, "time_limit": 0.3}
    plan = make_plan(address, vehicle_names=names, **body)
    reader = open_page(f"#plan={plan['id']}")
    for format in ("Letter", "A4"):
        document = reader.page.pdf(format=format)
        assert len(re.findall(rb"/Type\s*/Page\b", document)) == 6
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheet = reader.page.locator(".sheet").first
    reader.expect(sheet.locator("h2")).to_have_text("Van A")
    assert re.search(r"Vehicle 1 of 6.*20\d\d", sheet.text_content())
    reader.expect(sheet.locator("th")).to_contain_text(["phone", "remarks"])
    reader.expect(sheet.locator("td.done")).to_have_count(24)
    reader.expect(sheet.locator("tbody")).to_contain_text("Ring twice")


def test_print_gives_one_sheet_per_driver(planned):
    """The printed plan has one page per tour, with its stops in order and sums."""
    document = planned.page.pdf()
    assert len(re.findall(rb"/Type\s*/Page\b", document)) == 7
    planned.see(".sheet").to_have_count(0)  # on screen they are gone again
    planned.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    planned.see(".sheet").to_have_count(7)
    sheet = planned.page.locator(".sheet").first
    assert "Vehicle 1 of 7" in sheet.text_content()
    cells = sheet.locator("tbody tr:not(.sheet-depot)").evaluate_all(
        "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    heads = sheet.locator("thead th").all_text_contents()
    assert heads[:4] == ["No.", "Customer", "Demand", "Load so far"]
    assert [row[0] for row in cells] == [str(i) for i in range(1, len(cells) + 1)]
    total = sum(float(row[2]) for row in cells)
    assert abs(total - float(cells[-1][3].replace(",", ""))) < 1e-6


def firm_table(customers: int) -> str:
    """A table with as many columns as German firms have."""
    heads = (
        "Kd.-Nr.;Kunde;Straße;PLZ;Ort;Breite;Länge;Menge (kg);Telefon;Lieferfenster;"
    )
    rows = [heads + "Bemerkung", "1;Lager;Am Hafen 4;01067;Dresden;51,05;13,7;;;;"]
    rows += [
        f"{10_000 + i};Feinkosthandlung Zimmermann {i};Wilsdruffer Straße {i};01097;"
        f"Dresden;{51 + i % 9 / 50:.2f};{13.6 + i % 7 / 40:.3f};{20 + i};"
        f"0351 4710{i:03};08:00–12:00;Anlieferung über den Hof, bitte klingeln"
        for i in range(1, customers + 1)
    ]
    return "\n".join(rows)


def test_sheets_of_many_columns_break_no_word(open_page, address):
    """The address is below the name, and each tour is on one page."""
    wishes = {"vehicles": 3, "capacity": 400, "time_limit": 0.3, "date": "2026-11-17"}
    plan = make_plan(address, text=firm_table(39), **wishes)
    left = len(plan["result"]["unserved"])
    assert left  # they get a page of their own
    reader = open_page(f"#plan={plan['id']}", locale="de-DE")
    document = reader.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) == 4
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    reader.see(".sheet").to_have_count(4)
    reader.see(".sheet.broken").to_have_count(0)
    heads = reader.page.locator(".sheet >> nth=0 >> th").all_text_contents()
    assert heads[:5] == ["Nr.", "Kunde", "Kd.-Nr.", "Telefon", "Lieferfenster"]
    addresses = reader.page.locator(".sheet .address").all_text_contents()
    assert len(addresses) == 39
    pattern = r"Wilsdruffer Straße \d+, 01097 Dresden"
    assert all(re.fullmatch(pattern, address) for address in addresses)
    # No cell is wider than its column, so nothing is cut or broken.
    assert reader.page.evaluate(
        """() => [...document.querySelectorAll(".sheet td, .sheet th")]
          .every((cell) => cell.scrollWidth <= cell.clientWidth + 1)"""
    )
    texts = reader.page.locator(".sheet").all_text_contents()
    assert all("17. November 2026" in text for text in texts)
    assert all("Luftlinie" in text for text in texts[:3])
    assert f"Nicht beliefert{left} Kunde" in texts[3]


def test_sheets_of_very_many_columns_lie(open_page, address):
    """A table that is too wide for the page is printed in landscape."""
    head, *rows = firm_table(9).splitlines()
    more = ";DD-AB 1234;Rollwagen 12;Tor 17 rechts;Zimmermann;DE 1234567890"
    heads = f"{head};Kennzeichen;Behälter;Rampe;Ansprechpartner;Steuernummer"
    text = "\n".join([heads, *(row + more for row in rows)])
    plan = make_plan(address, text=text, vehicles=1, capacity=900, time_limit=0.1)
    reader = open_page(f"#plan={plan['id']}&tour=1")
    reader.see(".links a").not_to_have_count(0)  # their codes are on the sheet
    document = reader.page.pdf(format="A4")
    sizes = re.findall(rb"/MediaBox \[0 0 (\d+)[\d.]* (\d+)", document)
    assert sizes == [(b"842", b"595")]
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    reader.see(".sheet.broken").to_have_count(0)


def test_a_tour_that_is_too_full_is_marked_on_its_sheet(open_page, address):
    """The sheet of an overloaded tour says by how much."""
    table = "name,x,y,demand\nDepot,0,0,\nA,1,1,3\nB,2,2,3\nC,-1,1,4\n"
    wishes = {"vehicles": 2, "capacity": 6, "time_limit": 0.1}
    plan = make_plan(address, text=table, **wishes)
    reader = open_page(f"#plan={plan['id']}")
    reader.page.evaluate(
        """async (id) => {
          const tours = [[1, 2, 3]];
          const body = JSON.stringify({tours});
          const headers = {"Content-Type": "application/json"};
          await fetch(`/plans/${id}/tours`, {method: "PUT", headers, body});
        }""",
        plan["id"],
    )
    reader.page.reload()
    reader.see(".tour.over").to_have_count(1)
    reader.see("#plan-warning").to_have_text("1 tour is too full.")
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    text = "Too full: 4 more than the vehicle carries"
    reader.see(".sheet-warning").to_have_text(text)


def test_a_sheet_has_codes_that_open_its_tour_on_a_phone(open_page, finished):
    """Each sheet has a code for up to ten stops; the open tour has the same links."""
    reader = open_page(f"{finished}&tour=3")
    reader.see(".tour:nth-child(3)").to_have_class(re.compile("selected"))
    reader.see(".tour.selected .links a").not_to_have_count(0)
    address = reader.page.get_attribute(".links a >> nth=0", "href")
    assert address.startswith("https://www.google.com/maps/dir/?api=1&")
    assert "Buchhandlung" not in address
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    sheets = reader.page.locator(".sheet")
    for stops, codes in sheets.evaluate_all(
        """sheets => sheets.map((sheet) => [
          sheet.querySelectorAll("td.done").length,
          [...sheet.querySelectorAll(".sheet-codes canvas")].map((code) => {
            const {data} = code.getContext("2d").getImageData(0, 0, 60, 60);
            const alpha = (x, y) => data[4 * (60 * y + x) + 3];
            return [alpha(4, 4), alpha(12, 12), alpha(20, 20)]; // the corner's mark
          })])"""
    ):
        assert codes == [[255, 0, 255]] * -(-stops // 10)


def test_a_tour_in_the_address_fills_the_map(open_page, finished):
    """The map shows the tour of the address, and again when the window changes."""
    reader = open_page(f"{finished}&tour=2", viewport={"width": 1300, "height": 700})
    reader.see(".tour.selected").to_have_count(1)
    stops = reader.page.locator(".tour.selected [data-customer]")
    customers = [int(stop.get_attribute("data-customer")) for stop in stops.all()]
    for width in (1300, 1500):
        reader.page.set_viewport_size({"width": width, "height": 700})
        spot = reader.spots_of([0, *customers])[1]
        reader.page.locator("#canvas").hover(position=spot)
        reader.see("#tip").to_contain_text(re.compile(r"Stop 1 of \d+ in tour 2"))
