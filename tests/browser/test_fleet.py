"""Fleets that are too small, one vehicle more or less, wrong input, and the token."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.slow


def test_a_fleet_too_small_is_proven_so(reader):
    """Before any search, the page says why the fleet does not suffice."""
    reader.take_example("bakery_round")
    reader.see("#form-verdict").to_contain_text("3 vehicles are not enough.")
    reader.see("#form-verdict").to_contain_text("The smallest fleet that suffices: 4.")


def test_the_plan_for_a_small_fleet_names_unserved_customers(reader):
    """A plan with too few vehicles names the unserved customers."""
    reader.take_example("bakery_round")
    reader.plan()
    reader.see("#left-out-title").to_have_text(re.compile(r"\d customers? left out"))
    reader.see("#left-out-list li").not_to_have_count(0)
    reader.see("#form-verdict").to_contain_text("3 vehicles are not enough.")
    reader.see("#gain").to_have_text("for the customers served")


def test_the_smallest_fleet_is_one_click_away(reader):
    """One click plans with the fleet that the verdict offers, for all customers."""
    reader.take_example("bakery_round")
    reader.page.fill("#time_limit", "0.1")
    reader.page.click("#form-verdict .accept")
    reader.see("#status").to_contain_text("Finished")
    reader.see("#vehicles").to_have_value("4")
    reader.see("#cost-of").to_have_text("4 of 4 vehicles")
    reader.see("#left-out").to_be_hidden()
    reader.see("#form-verdict").to_contain_text("4 vehicles suffice.")


def test_no_fleet_suffices_for_a_customer_larger_than_a_vehicle(reader):
    """If no number of vehicles suffices, none is offered or compared."""
    reader.paste("name,x,y,demand\nDepot,0,0,\nMill,3,4,50\nShop,6,8,5")
    reader.set_fleet(2, 40)
    verdict = reader.see("#form-verdict")
    verdict.to_contain_text("No number of vehicles suffices.")
    verdict.to_contain_text("Mill")
    reader.plan()
    reader.see("#left-out-list").to_contain_text("Mill")
    reader.see(".accept").to_have_count(0)
    reader.see("#compare").to_be_hidden()


def test_the_verdict_follows_the_fleet_as_it_is_typed(reader):
    """The verdict changes with the number of vehicles, without planning."""
    reader.take_example()
    reader.see("#form-verdict").to_contain_text("7 vehicles suffice.")
    reader.page.fill("#vehicles", "6")
    reader.see("#form-verdict").to_contain_text("6 vehicles are not enough.")
    reader.see("#filling-text").to_contain_text("109 % full")
    reader.page.fill("#vehicles", "8")
    reader.see("#form-verdict").to_contain_text("8 vehicles suffice.")


def test_one_vehicle_more_or_less_can_be_chosen(reader):
    """After a plan, those with other fleets are made, and one of them is shown."""
    reader.take_example()
    reader.page.fill("#vehicle_cost", "5")
    reader.plan()
    reader.see(".option-fleet").to_have_text(["6", "7", "8", "9"])
    reader.see("#options").not_to_contain_text("…")
    reader.page.locator(".option :checked").press("ArrowRight")
    reader.see(".option:has(:checked) .option-fleet").to_have_text("8")
    said = reader.page.get_attribute(".option :checked", "aria-label")
    assert re.match(r"8 vehicles: [\d.]+\skm, (no change|[+−][\d.]+\skm)$", said)
    reader.page.keyboard.press("ArrowLeft")
    reader.page.keyboard.press("ArrowLeft")
    chosen = reader.page.locator(".option :checked")
    assert chosen.get_attribute("aria-label") == "6 vehicles: not enough"
    reader.see("#left-out").to_be_visible()
    reader.page.click(".option:nth-child(2)")
    reader.see("#left-out").to_be_hidden()
    reader.see("#cost-of").to_have_text("7 of 7 vehicles")


def test_an_error_is_shown_beside_its_field(reader):
    """An error is shown beside its field, and the field has the focus."""
    # A table that leaves the fleet to the form.
    reader.paste("name,x,y,demand\nDepot,0,0,\nMill,3,4,5")
    reader.set_fleet(1, 10)
    for field, right, typed, sentence in [
        ("time_limit", "1", "100000", "at most"),
        ("vehicles", "1", "1.5", "integer"),
        ("capacity", "10", "-3", "greater than 0"),
        ("vehicle_cost", "0", "-1", "greater than or equal to 0"),
        ("vehicles", "1", "", "Vehicles must be given"),
    ]:
        reader.page.fill(f"#{field}", typed)
        reader.page.click("#plan")
        reader.see(f"#{field}-error").to_contain_text(sentence)
        reader.see(f"#{field}").to_be_focused()
        reader.see(f"#{field}").to_have_attribute("aria-invalid", "true")
        reader.page.fill(f"#{field}", right)


def test_a_wrong_table_is_explained_where_it_was_given(reader):
    """An error in the table is shown beside the table."""
    reader.page.click(".paste summary")
    reader.page.fill("#table", "name,x,y,demand\nDepot,0,0,\nMill,3,four,5")
    reader.page.click("#use-table")
    reader.see("#source-error").to_contain_text("Row 3")
    reader.page.fill("#table", "   ")
    reader.page.click("#use-table")
    reader.see("#source-error").to_contain_text("The table is empty")


def test_a_file_that_cannot_be_read_is_refused(reader, tmp_path):
    """A broken or a huge file is refused in words, before anything is sent."""
    file = {"name": "book.xlsx", "mimeType": "text/csv", "buffer": b"PK\x03\x04\xff"}
    reader.page.set_input_files("#file", file)
    reader.see("#source-error").to_contain_text("Not an Excel file, or a broken one")
    (tmp_path / "all.csv").write_bytes(b"x" * 8_200_000)
    reader.page.set_input_files("#file", tmp_path / "all.csv")
    reader.see("#source-error").to_contain_text("All.csv has 8.2 MB, and this server")


TWO = "name,x,y,demand\nDepot,0,0,\nMill,3,4,5\nShop,6,8,5"


def test_typed_numbers_never_change_in_silence(open_page):
    """A comma is a decimal sign; what may mean two numbers is refused."""
    reader = open_page()
    reader.paste(TWO)
    reader.set_fleet(2, "700,5")
    reader.see("#filling-text").to_contain_text("10 of 1,401: ")
    reader.page.fill("#capacity", "1,500")
    reader.page.click("#plan")
    reader.see("#capacity-error").to_contain_text("write 1500 or 1.5")
    german = open_page(locale="de-DE")
    german.paste(TWO)
    german.set_fleet(2, "700,5")
    german.see("#filling-text").to_contain_text("10 von 1.401: ")
    german.page.fill("#capacity", "1.500")
    german.page.click("#plan")
    german.see("#capacity-error").to_contain_text("schreiben Sie 1500 oder 1,500")
    german.page.fill("#capacity", "7,25")
    german.plan()
    german.see(".tour-load").to_have_text(["5 von 7,25", "5 von 7,25"])
    german.page.reload()
    german.see("#capacity").to_have_value("7,25")


def test_the_fleet_is_kept_for_the_next_file_and_visit(reader):
    """Vehicles, capacity, names and units stay; a file's own fleet comes first."""
    reader.paste(TWO)
    reader.set_fleet(3, 12)
    reader.page.click("text=Ways and units")
    reader.page.fill("#unit", "crates")
    reader.see("#filling-text").to_contain_text("10 of 36 crates")
    reader.page.click("#change")
    reader.page.fill("#table", TWO.replace("Mill", "Farm"))
    reader.page.click("#use-table")
    reader.see("#form-verdict").to_contain_text("3 vehicles suffice.")
    reader.see("#capacity").to_have_value("12")
    reader.page.reload()
    reader.paste(TWO)
    reader.see("#vehicles").to_have_value("3")
    reader.see("#unit").to_have_value("crates")
    reader.page.click("#change")
    reader.take_example()
    reader.see("#vehicles").to_have_value("7")


DOUBTFUL = """name,lat,lon,demand
Depot,51.3,12.3,
A,51.31,12.31,3
B,51.32,12.32,4
C,51.29,12.33,4
D,51.33,12.29,4
Zero,0,0,4
Swapped,12.3,51.3,2
"""


def test_doubtful_rows_are_shown_before_planning(reader):
    """They are named; planning waits until the user leaves them out or goes on."""
    reader.paste(DOUBTFUL)
    reader.see("#doubts").to_be_focused()
    reader.see("#doubts-list li").to_have_text(
        [re.compile(r"Row 8 \(Swapped\)"), re.compile(r"Row 7 \(Zero\)")]
    )
    reader.set_fleet(2, 20)
    reader.page.click("#plan")
    reader.see("#form-error").to_contain_text("decide about the doubtful rows")
    reader.page.click("#leave-out")
    reader.see("#loaded-count").to_have_text("4 customers")
    reader.see("#doubts").to_be_hidden()
    reader.plan()
    reader.see("#cost-unit").to_have_text("km")
    kilometres = float(reader.text("#cost"))
    reader.page.click("text=Ways and units")
    reader.page.select_option("#length_unit", "mi")
    reader.plan()
    reader.see("#cost-unit").to_have_text("mi")
    reader.see("#status").to_contain_text("Finished")
    assert float(reader.text("#cost")) == pytest.approx(kilometres / 1.609, rel=0.01)


def test_a_server_that_cannot_be_reached_is_reported(reader):
    """If the server cannot be reached, the page says so."""
    reader.take_example()
    reader.page.route("**/plans", lambda route: route.abort())
    reader.page.click("#plan")
    reader.see("#form-error").to_have_text("The server cannot be reached.")


def test_the_printed_address_opens_the_page(open_page, guarded):
    """The address with the token opens the page, which then does not show the token."""
    reader = open_page(at=guarded)
    assert "token" not in reader.page.url
    reader.take_example()
    reader.plan()
    reader.see(".tour").to_have_count(7)
    with reader.page.expect_download() as download:
        reader.page.click("[data-download=csv]")
    assert (
        download.value.path().read_bytes().startswith(b"\xef\xbb\xbftour,stop,customer")
    )
    reader.page.reload()
    reader.see(".tour").to_have_count(7)
    assert reader.page.evaluate("document.cookie") == ""  # scripts cannot read it


def test_a_page_without_the_token_says_what_to_do(open_page, guarded):
    """Without the token the page says how to open it."""
    reader = open_page(at=guarded.partition("?")[0])
    reader.see("#source-error").to_contain_text("address that the server printed")


def test_streets_are_shown_beneath_the_plan(open_page, guarded):
    """Tiles of the place come from the host that was chosen, whom the page names."""
    reader = open_page(at=guarded)
    asked = []

    def answer(route):
        asked.append(route.request.url)
        route.fulfill(status=200, content_type="image/png", body=b"")

    reader.page.route("https://tiles.example.org/**", answer)
    reader.take_example()
    reader.see("#attribution").to_have_text("© OpenStreetMap contributors")
    while not asked:
        reader.page.wait_for_timeout(20)
    zoom, x, y = map(int, re.findall(r"\d+", asked[0]))
    # Leipzig is at 12.4° E and 51.3° N; Mercator's tile of it by the usual formula.
    middle = ((12.4 + 180) / 360 * 2**zoom, 0.3335 * 2**zoom)
    assert abs(x - middle[0]) < 4 and abs(y - middle[1]) < 4
    assert 9 <= zoom <= 14
