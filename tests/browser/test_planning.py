"""From customers to a plan, as a user does it."""

from __future__ import annotations

import json
import re

import pytest

from .conftest import table

pytestmark = pytest.mark.slow

COSTS = """() => {
  const cost = document.getElementById("cost");
  window.costs = [];
  new MutationObserver(() => window.costs.push(cost.textContent))
    .observe(cost, {childList: true, characterData: true, subtree: true});
}"""
MATRIX = """NAME : three
TYPE : CVRP
DIMENSION : 4
CAPACITY : 2
VEHICLES : 2
EDGE_WEIGHT_TYPE : EXPLICIT
EDGE_WEIGHT_FORMAT : FULL_MATRIX
EDGE_WEIGHT_SECTION
0 1 2 3
1 0 1 2
2 1 0 1
3 2 1 0
DEMAND_SECTION
1 0
2 1
3 1
4 1
DEPOT_SECTION
1
-1
EOF
"""


def number(text: str) -> float:
    """Read a number as the page writes it."""
    return float(text.replace(",", ""))


def test_the_page_opens_with_examples_and_nothing_to_plan(reader):
    """At first customers can be given, and no plan can be asked for."""
    reader.see(".example").to_have_count(2)
    reader.see("#plan").to_be_disabled()
    reader.see("#summary").to_be_hidden()


def test_a_file_of_customers_appears_at_once(reader, two_hundred):
    """A chosen file is drawn at once, and its missing fleet is asked for."""
    reader.choose(two_hundred)
    reader.see("#loaded-count").to_have_text("200 customers")
    reader.see("#loaded-name").to_have_text("shops.csv")
    reader.see("#canvas").to_be_visible()
    reader.see("#vehicles").to_be_focused()


def test_a_file_is_taken_where_it_is_dropped(reader):
    """A VRPLIB file dropped onto the page is read with its fleet and capacity."""
    reader.page.evaluate(
        """(text) => {
          const data = new DataTransfer();
          data.items.add(new File([text], "three.vrp"));
          const options = {bubbles: true, cancelable: true, dataTransfer: data};
          document.body.dispatchEvent(new DragEvent("drop", options));
        }""",
        MATRIX,
    )
    reader.see("#loaded-count").to_have_text("3 customers")
    reader.see("#vehicles").to_have_value("2")
    reader.see("#capacity").to_have_value("2")


def test_the_plan_improves_on_the_page(reader, two_hundred):
    """Tours are shown while the search runs, and their cost falls."""
    reader.choose(two_hundred)
    reader.set_fleet(12, 100)
    reader.page.evaluate(COSTS)
    reader.begin(3)
    reader.see("#cancel").to_be_visible()
    reader.see("#status").to_contain_text("Finished")
    costs = reader.page.evaluate("window.costs")
    shown = [number(cost) for cost in costs if cost != "–"]
    assert len(set(shown)) > 1
    assert shown == sorted(shown, reverse=True)
    # Compared with a good plan, not with the packing that the search starts from.
    gain = re.fullmatch(r"([\d.]+)\s% below the first good plan", reader.text("#gain"))
    assert 0 < number(gain[1]) < 10


def test_a_finished_plan_says_all_about_its_tours(reader):
    """Each tour shows its stops, load and length, which add up to the plan."""
    reader.take_example()
    reader.plan()
    reader.see("#cost-of").to_have_text("7 of 7 vehicles")
    reader.see(".tour").to_have_count(7)
    heads = reader.page.locator(".tour-head").evaluate_all(
        "heads => heads.map((head) => head.ariaLabel)"
    )
    parts = [
        re.fullmatch(
            r"Tour (\d): (\d+) stops, load ([\d.,]+) of 850, ([\d.]+)\skm, .*", head
        )
        for head in heads
    ]
    assert [int(part[1]) for part in parts] == [1, 2, 3, 4, 5, 6, 7]
    assert sum(int(part[2]) for part in parts) == 63
    assert sum(number(part[3]) for part in parts) == pytest.approx(5539.6)
    length = sum(number(part[4]) for part in parts)
    assert length == pytest.approx(number(reader.text("#cost")), abs=0.5)


def test_a_customer_is_shown_under_the_pointer(planned):
    """Hovering shows a customer's name, demand and place in its tour."""
    planned.page.hover("#canvas", position=planned.spot_of(1))
    planned.see("#tip strong").to_have_text("Buchhandlung Grimmaische Straße 12")
    planned.see("#tip").to_contain_text("Demand 192.7")
    planned.see("#tip").to_contain_text(re.compile(r"Stop \d+ of \d+ in tour \d"))


def test_a_click_selects_a_tour(planned):
    """A click on a tour, in the list or on the map, selects it; Escape clears it."""
    names = planned.page.locator(".tour.selected .stop-name")
    sought = "Buchhandlung Grimmaische Straße 12"
    planned.page.click("#canvas", position=planned.spot_of(1))
    planned.see("#canvas").to_have_class(re.compile("moved"))  # the map shows the tour
    planned.expect(names.filter(has_text=sought)).to_have_count(1)
    chosen = planned.text(".tour.selected .badge")
    another = "3" if chosen != "3" else "4"
    planned.page.click(f".tour:nth-child({another}) .tour-head")
    planned.see(".tour.selected .badge").to_have_text(another)
    planned.expect(names.filter(has_text=sought)).to_have_count(0)
    planned.page.keyboard.press("Escape")
    planned.see(".tour.selected").to_have_count(0)
    planned.see("#canvas").not_to_have_class(re.compile("moved"))


def test_earlier_plans_are_listed(open_page, finished):
    """The first page lists plans by name, length and date; a click shows one."""
    reader = open_page()
    plans = reader.page.locator(".earlier-plan")
    reader.expect(plans).not_to_have_count(0)
    plan = reader.page.locator(f'.earlier-plan[href="{finished}"]')
    while not plan.count():  # other tests have made newer plans
        listed = plans.count()
        reader.page.click("#earlier-more")
        reader.expect(plans).not_to_have_count(listed)
    text = plan.inner_text()
    assert re.search(r"Leipzig parcels\s+[\d.]+\skm\s+\w+ \d+, 20\d\d", text)
    plan.click()
    reader.see(".tour").to_have_count(7)


def test_more_earlier_plans_are_asked_for_again_after_a_fault(reader):
    """If further plans cannot be listed, the page says so; a second click does it."""
    facts = {"created": "2026-03-12T08:00:00Z", "customers": 4, "vehicles": 2}
    facts |= {"status": "done", "cost": 5.0, "unit": "km", "unserved": 0}
    plans = [{"id": f"p{i}", "name": f"Plan {i}", **facts} for i in range(8)]
    busy = {"status": 503, "json": {"error": "the server is busy"}}
    answers = [{"json": plans[:7]}, busy, {"json": plans[6:]}]
    page = reader.page
    page.route("**/plans?limit=*", lambda route: route.fulfill(**answers.pop(0)))
    page.reload()
    reader.see(".earlier-plan").to_have_count(6)
    page.click("#earlier-more")
    reader.see("#earlier-error").to_have_text("The server is busy.")
    page.click("#earlier-more")
    reader.see(".earlier-plan").to_have_count(8)
    reader.see("#earlier-error").to_be_hidden()
    reader.see("#earlier-more").to_be_hidden()
    assert answers == []


def test_stop_keeps_the_best_plan_so_far(reader, two_hundred):
    """A search that is stopped keeps the tours it has found."""
    reader.choose(two_hundred)
    reader.set_fleet(12, 100)
    reader.begin(120)
    reader.page.click("#cancel")
    reader.see("#status").to_contain_text("Stopped")
    reader.see(".tour").not_to_have_count(0)
    reader.see("#downloads").to_be_visible()
    reader.see("#plan").to_be_visible()


def test_a_reload_shows_the_same_plan(reader, open_page):
    """The address of a plan shows it again, in this tab and in another browser."""
    reader.take_example()
    reader.plan()
    cost, tours = reader.text("#cost"), reader.text("#tour-list")
    reader.page.reload()
    reader.see("#cost").to_have_text(cost)
    other = open_page("#" + reader.page.url.partition("#")[2])
    other.see("#cost").to_have_text(cost)
    assert reader.text("#tour-list") == other.text("#tour-list") == tours
    other.see("#vehicles").to_have_value("7")
    other.plan()


def test_a_reload_during_the_search_follows_it(reader, two_hundred):
    """A page that is reloaded while its plan is running follows it again."""
    reader.choose(two_hundred)
    reader.set_fleet(12, 100)
    reader.begin(120)
    reader.page.reload()
    reader.see(".tour").not_to_have_count(0)
    reader.page.click("#cancel")
    reader.see("#status").to_contain_text("Stopped")


def test_a_broken_connection_is_opened_again(reader):
    """A lost connection is said, and the stream of events is opened again."""
    broken = []

    def breaking(route):
        if broken:
            route.continue_()
        else:
            broken.append(route.abort())

    reader.page.route("**/events", breaking)
    reader.take_example()
    reader.page.fill("#time_limit", "0.1")
    reader.page.click("#plan")
    reader.see("#status").to_contain_text("connection to the server is lost")
    reader.see("#status").to_contain_text("Finished")
    assert broken
    reader.see(".tour").to_have_count(7)


def test_the_page_says_that_the_search_is_being_prepared(reader):
    """What is compiled after roads and verdict is not taken for roads or a search."""
    page = reader.page
    page.evaluate(
        """() => {
          window.EventSource = class extends EventTarget {
            constructor() { super(); window.stream = this; }
            close() {}
          };
        }"""
    )
    reader.take_example()
    page.fill("#time_limit", "0.1")
    page.click("#plan")
    reader.see("#cancel").to_be_visible()

    def tell(name, data):
        page.evaluate(
            "([name, data]) => stream.dispatchEvent(new MessageEvent(name, {data}))",
            [name, json.dumps(data)],
        )

    tell("preparing", {})
    tell("roads", {"done": 1, "total": 4})
    reader.see("#status").to_have_text("Asking for roads: 25 %")
    tell("roads", {"done": 4, "total": 4})
    reader.see("#status").to_have_text(re.compile("^Preparing"))
    verdict = {"status": "impossible", "vehicles": 7, "reason": "they are too few"}
    verdict |= {"smallest": None, "upper_bound": None, "advice": ""}
    tell("verdict", verdict)
    reader.see("#form-verdict").to_contain_text("No number of vehicles suffices")
    reader.see("#status").to_have_text(re.compile("^Preparing"))
    tell("searching", {})
    said = "Searching a plan for as many customers as possible"
    reader.see("#status").to_have_text(said)
    # Nothing that arrives after the user has stopped the search replaces this.
    page.click("#cancel")
    reader.see("#status").to_have_text("Stopping…")
    tell("roads", {"done": 1, "total": 4})
    tell("roads", {"done": 4, "total": 4})
    tell("searching", {})
    reader.see("#status").to_have_text("Stopping…")


def test_the_plan_can_be_saved(planned):
    """The plan can be saved as a table, JSON, a VRPLIB solution and a picture."""
    saved = {}
    for format in ("csv", "xlsx", "json", "gpx", "sol", "png"):
        button = "#picture" if format == "png" else f"[data-download={format}]"
        with planned.page.expect_download() as download:
            planned.page.click(button)
        day = "" if format == "png" else r"_plan_\d{4}-\d\d-\d\d"
        name = download.value.suggested_filename
        assert re.fullmatch(rf"Leipzig-parcels{day}\.{format}", name)
        saved[format] = download.value.path().read_bytes()
    assert saved["csv"].startswith(b"\xef\xbb\xbftour,stop,customer,name,demand")
    assert saved["csv"].count(b"\n") == 64
    assert saved["xlsx"].startswith(b"PK")
    assert len(json.loads(saved["json"])["tours"]) == 7
    assert saved["sol"].count(b"Route #") == 7
    assert saved["png"].startswith(b"\x89PNG")
    assert len(saved["png"]) > 20_000


def test_vehicles_cost_what_is_typed(reader):
    """With a cost per vehicle, the figure is the sum of length and vehicles."""
    reader.take_example()
    reader.page.fill("#vehicle_cost", "10")
    reader.plan()
    way = re.match(r"([\d.]+)\skm driven \+ 7 × 10 for", reader.text("#gain"))
    assert number(reader.text("#cost")) == pytest.approx(number(way[1]) + 70, abs=0.02)


def test_customers_without_coordinates_are_listed(reader):
    """An instance of distances only is planned, and its tours are listed."""
    reader.paste(MATRIX)
    reader.see("#no-map-title").to_have_text("Nothing to draw")
    reader.plan()
    reader.see(".tour").to_have_count(2)
    reader.page.click("#picture")
    reader.see("#download-error").to_contain_text("no coordinates")


def test_ten_thousand_customers_are_loaded(reader):
    """A file of 10,000 customers is read and drawn."""
    reader.choose(table(10_000))
    reader.see("#loaded-count").to_have_text("10,000 customers")
    reader.see("#canvas").to_be_visible()


def test_a_thousand_customers_are_planned(reader, thousand):
    """A thousand customers are drawn; stops are listed when a tour is opened."""
    reader.choose(thousand)
    reader.set_fleet(30, 200)
    reader.plan(0.3)
    assert reader.page.locator(".tour").count() <= 30
    reader.see(".stop").to_have_count(0)
    reader.page.click(".tour:first-child .tour-head")
    reader.see(".stop").not_to_have_count(0)


def test_a_plan_is_proven_on_the_page(reader):
    """With the tick, the page says that the plan cannot be shorter, and keeps it."""
    reader.take_example("bakery_round")
    reader.page.fill("#vehicles", "4")
    reader.page.check("#prove")
    reader.plan(60)
    reader.see("#gap").to_have_text("Cannot be shorter")
    reader.see("#announcer").to_contain_text("Cannot be shorter")
    reader.page.reload()
    reader.see("#gap").to_have_text("Cannot be shorter")
    reader.see("#prove").to_be_checked()
    reader.page.uncheck("#prove")
    reader.plan()
    reader.see("#gap").to_have_text("")


def test_earlier_plans_are_renamed_and_deleted(reader):
    """A plan says how many it leaves out; its name can be changed, and all of it go."""
    reader.take_example("bakery_round")
    reader.plan()
    first = reader.page.locator("#earlier-list li").first
    reader.expect(first.locator(".earlier-length")).to_have_text("1 left out")
    reader.expect(first.locator("time")).to_contain_text("3 vehicles")
    first.locator(".plan-more").click()
    reader.page.fill("#plan-name", "Montag, Regen")
    reader.page.click("#plan-rename")
    reader.see("#plan-menu").to_be_hidden()
    reader.expect(first.locator(".earlier-name")).to_have_text("Montag, Regen")
    gone = first.get_attribute("data-plan")
    first.locator(".plan-more").click()
    reader.page.click("#plan-delete")
    reader.see("#summary").to_be_hidden()  # it was shown, and is no more
    reader.see(f'[data-plan="{gone}"]').to_have_count(0)


def test_a_search_that_is_being_stopped_says_so(reader):
    """From the click on Stop to the end of the search, the page says "Stopping"."""
    reader.take_example()
    reader.begin(30)
    held = []

    def hold(route):
        if route.request.method == "DELETE":
            held.append(route)
        else:
            route.continue_()

    reader.page.route("**/plans/*", hold)
    reader.page.click("#cancel")
    reader.see("#status").to_have_text("Stopping…")
    reader.see("#cancel").to_be_disabled()
    held[0].continue_()
    reader.see("#status").to_contain_text("Stopped after")
    reader.see("#plan").to_be_visible()


SHOPS = """name,x,y,demand,Straße,PLZ
Depot,0,0,,,
Rewe,1,1,3000.5,Am Markt 1,01097
Rewe,2,2,3000,Hauptstraße 2,01099
Aldi,3,3,4,Am Markt 1,01097
Aldi,3,3,5,Am Markt 1,01097
"""


def test_shops_of_one_name_are_told_apart_by_their_streets(open_page):
    """The street tells more than a number; all amounts are written alike."""
    reader = open_page(locale="de-DE")
    reader.paste(SHOPS)
    reader.set_fleet(1, 5000)
    reader.see("#form-verdict").to_contain_text(
        "zusammen 6.009,5, der Fuhrpark trägt aber nur 5.000"
    )
    reader.plan()
    names = "Rewe, Am Markt 1, 01097|Rewe, Hauptstraße 2, 01099|Aldi (3)|Aldi (4)"
    shown = reader.page.locator("#left-out-list li > span:first-child")
    assert set(shown.all_inner_texts()) <= set(names.split("|"))
    reader.see("#left-out-hint").to_be_visible()
    reader.page.fill("#find", "rewe")
    reader.see("#found button").to_have_count(2)
    reader.see("#found").to_contain_text("Rewe, Hauptstraße 2, 01099")


def test_an_opened_plan_is_in_sight_on_a_phone(open_page, finished):
    """A plan that is opened on a phone shows its map, which is below the form."""
    reader = open_page(finished, viewport={"width": 390, "height": 700})
    reader.see("#canvas").to_be_in_viewport()
