"""Tables as firms have them: the user says what the server cannot know."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow

OWN = """Nord;Ost;Paletten;Kunde
51,5;12,5;;Lager
51,25;12,25;3;Ada
51,75;12,75;2;Bob
"""


def give(reader, text: str) -> None:
    """Choose a file with this table."""
    file = {"name": "own.csv", "mimeType": "text/csv", "buffer": text.encode()}
    reader.page.set_input_files("#file", file)


def test_columns_are_chosen_by_drop_downs_and_remembered(reader):
    """Unknown headings are chosen once; the next file needs no choice."""
    give(reader, OWN)
    reader.see("#source-error").to_have_text(
        "Not all columns of this table are recognised."
    )
    reader.see("#column-lat").to_be_focused()
    reader.see("#column-name").to_have_value("Kunde")
    reader.page.select_option("#column-lat", "Nord")
    reader.page.select_option("#column-lon", "Ost")
    reader.page.select_option("#column-demand", "Paletten")
    reader.page.click("#use-columns")
    reader.see("#loaded-count").to_have_text("2 customers")
    reader.see("#columns").to_be_hidden()
    reader.set_fleet(2, 4)
    reader.plan()
    reader.see(".tour").to_have_count(2)
    reader.page.goto("about:blank")
    reader.page.go_back()
    reader.page.wait_for_selector("html.ready")
    reader.page.click("#change")
    give(reader, OWN + "51,7;12,7;1;Cay\n")
    reader.see("#loaded-count").to_have_text("3 customers")
    reader.page.click("#notes summary")
    reader.see("#notes-list").to_contain_text("'Paletten' is the demand")


def test_a_wrong_choice_is_asked_again(reader):
    """Two columns for one thing, or none, leave the choice open."""
    give(reader, OWN)
    reader.page.select_option("#column-lat", "Nord")
    reader.page.click("#use-columns")
    reader.see("#columns").to_be_visible()
    reader.see("#column-lat").to_have_value("Nord")
    reader.see("#loaded").to_be_hidden()


RAW = """name,lat,lon,demand
Depot,51.3,12.3,
A,51.31,12.31,3
B,51.32,12.32,4
C,51.29,12.33,
D,51.33,12.29,4
E,,,5
Swapped,12.3,51.3,2
Zero,0,0,4
Summe,,,22
F,51.3,12.31,1
"""


def test_each_doubtful_row_has_a_choice(reader):
    """Missing cells are typed, swapped ones swapped, others left out, in one go."""
    give(reader, RAW)
    reader.see("#doubts").to_be_focused()
    reader.see("#doubts-list li").to_have_count(4)  # the sum is not asked about
    reader.see("#go-on").to_have_text("Go on without 2 rows")
    reader.page.fill('[data-correct="5:demand"]', "2,5")
    reader.page.fill('[data-correct="7:lat"]', "51.34")
    reader.page.fill('[data-correct="7:lon"]', "nowhere")
    lines = reader.page.locator(".doubt-choice")
    lines.filter(has_text="Swapped").locator("select").select_option("swap")
    lines.filter(has_text="Zero").locator("select").select_option("out")
    reader.page.click("#go-on")
    reader.see("#loaded-count").to_have_text("6 customers")
    # What was typed wrongly is asked again, and nothing else.
    reader.see("#doubts-list li").to_have_count(1)
    reader.see("#doubts-list").to_contain_text("Row 7 (E)")
    reader.page.fill('[data-correct="7:lon"]', "12.3")
    reader.page.click("#go-on")
    reader.see("#loaded-count").to_have_text("7 customers")
    reader.see("#doubts").to_be_hidden()
    reader.set_fleet(3, 12)
    reader.plan()
    reader.see("#cost-unit").to_have_text("km")
    assert float(reader.text("#cost")) < 60


def test_all_coordinates_are_swapped_back(reader):
    """If latitude and longitude are swapped in all rows, one choice swaps them."""
    rows = [f"S{i},12.3{i},51.3{i},1" for i in range(6)]
    give(reader, "name,lat,lon,demand\nDepot,12.3,51.3,\n" + "\n".join(rows))
    reader.see("#doubts-list li").to_have_count(1)
    reader.page.select_option("#doubts-list select", "swap")
    reader.page.click("#go-on")
    reader.see("#doubts").to_be_hidden()
    reader.page.click("#notes summary")
    reader.see("#notes-list").to_contain_text("'lon' is the lat")


def test_one_row_of_a_column_with_both_coordinates_is_swapped(reader):
    """The other rows stay as they are."""
    rows = [f'S{i},"51.3{i}, 12.3{i}",1' for i in range(6)]
    rows[2] = 'S2,"12.32, 51.32",1'
    give(reader, 'name,gps,demand\nDepot,"51.3, 12.3",\n' + "\n".join(rows))
    reader.see("#doubts-list li").to_have_count(1)
    reader.page.select_option("#doubts-list select", "swap")
    reader.page.click("#go-on")
    reader.see("#doubts").to_be_hidden()
    reader.page.click("#notes summary")
    reader.see("#notes-list").to_contain_text("Row 5: gps is '51.32', as asked for")


def test_a_sheet_is_chosen(reader, tmp_path):
    """Several sheets with customers are a drop-down; a title row is passed over."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for title, count in (("Mo", 2), ("Di", 3)):
        sheet = book.create_sheet(title)
        sheet.append(["Hofmann Frischdienst"])
        sheet.append([])
        sheet.append(["Kunde", "Breite", "Länge", "Menge"])
        for i in range(count + 1):
            sheet.append([f"Laden {i}", 51 + i / 10, 13 + i / 10, i or None])
    book.save(tmp_path / "woche.xlsx")
    reader.page.set_input_files("#file", tmp_path / "woche.xlsx")
    reader.see("#sheet").to_be_focused()
    reader.see("#column-fields").to_be_hidden()
    reader.page.select_option("#sheet", "Di")
    reader.see("#loaded-count").to_have_text("3 customers")
    reader.see("#columns").to_be_hidden()
    reader.set_fleet(2, 6)
    reader.plan()
    reader.see(".tour").not_to_have_count(0)


def test_a_depot_is_chosen(reader):
    """If every row has a demand, a drop-down says which row is the depot."""
    give(reader, "name,x,y,demand\nAda,0,0,1\nBob,1,1,2\nHome,3,3,9\n")
    reader.see("#depot").to_be_focused()
    reader.page.select_option("#depot", "Home")
    reader.see("#loaded-count").to_have_text("2 customers")
    reader.see("#columns").to_be_hidden()


def test_a_row_without_a_place_is_placed_on_the_map(reader):
    """A click on the map gives a row its latitude and longitude."""
    lines = ["name,lat,lon,demand", "Depot,51.0,13.0,"]
    lines += ["Ada,51.2,13.2,3", "Bob,51.2,13.0,2", "Hut,,,4"]
    give(reader, "\n".join(lines))
    reader.see("#doubts-list li").to_have_count(1)
    reader.see("[data-place]").to_have_text("Place it on the map")
    reader.page.click("[data-place]")
    reader.see("[data-place]").to_have_text("Click on its place on the map")
    box = reader.page.locator("#canvas").bounding_box()
    middle = {"x": box["width"] / 2, "y": box["height"] / 2}
    reader.page.locator("#canvas").click(position=middle)
    typed = [
        float(field.input_value())
        for field in reader.page.locator("#doubts input").all()
    ]
    assert typed == pytest.approx([51.1, 13.1], abs=0.01)
    reader.see("[data-place]").to_have_text("Place it on the map")
    reader.page.click("#go-on")
    reader.see("#loaded-count").to_have_text("3 customers")
    reader.see("#doubts").to_be_hidden()


def test_a_doubtful_row_is_marked_on_the_map(reader):
    """A ring marks the customer that is asked about, until the user has decided."""
    reader.page.evaluate(
        """() => {
          window.rings = 0;
          const arc = CanvasRenderingContext2D.prototype.arc;
          CanvasRenderingContext2D.prototype.arc = function (...values) {
            if (this.strokeStyle === "#b3261e") window.rings += 1;
            return arc.apply(this, values);
          };
        }"""
    )
    give(reader, "name,lat,lon,demand\nDepot,51,13,\nAda,51.2,13.2,3\nBob,51.1,13,0\n")
    reader.see("#doubts").to_be_visible()
    while not reader.page.evaluate("window.rings"):
        reader.page.wait_for_timeout(20)
    reader.page.click("#go-on")
    reader.page.evaluate("() => new Promise((done) => setTimeout(done, 100))")
    reader.page.evaluate("window.rings = 0")
    reader.page.click("#closer")
    reader.page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))"
    )
    assert reader.page.evaluate("window.rings") == 0
