"""The steps of the tutorial for dispatchers, from Excel's file to the sheets."""

from __future__ import annotations

import re
from pathlib import Path

import openpyxl
import pytest

pytestmark = pytest.mark.slow

TABLE = Path(__file__).parents[2] / "examples" / "getraenke_koeln.csv"


def test_the_steps_of_the_tutorial_lead_to_the_sheets(open_page, tmp_path):
    """A German dispatcher gets from the file to sheets and an Excel table."""
    reader = open_page(locale="de-DE")
    reader.page.set_input_files("#file", TABLE)
    reader.see("#loaded-count").to_have_text("42 Kunden")
    reader.see("#doubts").to_be_hidden()
    reader.set_fleet(4, 950)
    reader.see("#form-verdict").to_contain_text("4 Fahrzeuge reichen.")
    reader.see("#filling-text").to_contain_text("3.584,2 von 3.800 kg: 94 % voll")
    reader.name_vehicles("Anna", "Ben", "Cem", "Dora")
    reader.plan("0,1")
    reader.see(".tour").to_have_count(4)
    reader.page.click(".tour:nth-child(2) .tour-head")
    reader.see(".tour.selected .tour-stops").to_contain_text("Ben: ")
    reader.see(".option-fleet").to_have_text(["3", "4", "5", "6"])
    reader.see(".earlier-name >> nth=0").to_have_text("getraenke_koeln")

    document = reader.page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", document)) == 4
    reader.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    reader.see(".sheet h2").to_have_text(["Anna", "Ben", "Cem", "Dora"])
    reader.see("td.done").to_have_count(42)
    sheets = reader.page.text_content("#sheets")
    assert "Anlieferung bis 10 Uhr" in sheets and "0221 4710 101" in sheets
    reader.page.evaluate("window.dispatchEvent(new Event('afterprint'))")

    with reader.page.expect_download() as download:
        reader.page.click("[data-download=xlsx]")
    file = tmp_path / "plan.xlsx"
    download.value.save_as(file)
    head, *stops = openpyxl.load_workbook(file).active.iter_rows(values_only=True)
    assert head == (
        *("Tour", "Stopp", "lfd. Nr.", "Name", "Menge", "Ankunft", "Beginn", "Abfahrt"),
        *("Breite", "Länge", "Fahrzeug", "Straße", "Telefon", "Bemerkung"),
    )
    assert [row[-4] for row in stops][:: len(stops) - 1] == ["Anna", "Dora"]
    with reader.page.expect_download() as download:
        reader.page.click("[data-download=csv]")
    table = download.value.path().read_text(encoding="utf-8-sig")
    assert re.search("Café Eigelstein;66,4;.*;50,9487;6,9568;", table)
