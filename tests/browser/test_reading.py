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
