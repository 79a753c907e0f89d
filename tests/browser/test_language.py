"""The page in German and English: one table of texts, and nothing beside it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from fixedfleet.files import ReadOptions, parse
from fixedfleet.files.excel import format_excel
from fixedfleet.fleet import assess_fleet

from .conftest import make_plan
from .test_page_files import FILES, SCRIPTS

TABLES = dict(
    re.findall(r"export const (\w+) = (\{.*?\n\});", SCRIPTS["german.js"], re.DOTALL)
)
GERMAN = json.loads(TABLES["GERMAN"])
SENTENCES = json.loads(TABLES["SENTENCES"])
GAP = re.compile(r"\{[#@]?(\d)\}")
SHOWN = ("title", "aria-label", "placeholder")  # attributes that people read


class _Texts(HTMLParser):
    """Collects the texts of the start page that people read."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag, attributes):
        self._hidden += tag in ("head", "noscript")
        if not self._hidden:
            self.texts += [value for name, value in attributes if name in SHOWN]

    def handle_endtag(self, tag):
        self._hidden -= tag in ("head", "noscript")

    def handle_data(self, data):
        if data.strip() and not self._hidden:
            self.texts.append(data.strip())


def tagged(script: str) -> list[str]:
    """Return the templates with the tag t in a script, with gaps {0}, {1}, …."""
    texts = []
    for found in re.finditer(r"(?<![\w$])t`", script):
        at, text, gaps = found.end(), "", 0
        while script[at] != "`":
            if script.startswith("${", at):
                text += f"{{{gaps}}}"
                gaps, depth, at = gaps + 1, 1, at + 2
                while depth:
                    if script[at] == "`":  # a template within: it has no braces
                        at = script.index("`", at + 1)
                    depth += {"{": 1, "}": -1}.get(script[at], 0)
                    at += 1
            else:
                text += script[at]
                at += 1
        texts.append(text)
    return texts


def used() -> set[str]:
    """Return all English texts of the page."""
    start = _Texts()
    start.feed(FILES["index.html"])
    texts = set(start.texts)
    for name, script in SCRIPTS.items():
        if name != "language.js":
            texts |= set(tagged(script))
        for word in re.findall(r'count\([^;]*?, "(\w+)"\)', script):
            texts |= {word, f"{word}s"}
    return texts


def test_every_text_has_both_languages():
    """The table has the German of each text, and no text that the page does not use."""
    assert used() == GERMAN.keys()
    assert all(GERMAN.values())


@pytest.mark.parametrize("table", [GERMAN, SENTENCES])
def test_both_languages_fill_in_the_same(table):
    """A text has the same gaps in both languages."""
    for english, german in table.items():
        assert sorted(GAP.findall(english)) == sorted(set(GAP.findall(german))), english


def test_no_script_has_a_text_of_its_own():
    """A literal of several words is an element's class, or it has the tag t."""
    plain = re.compile(r'(?<![\w$])(?:"([^"\n]*)"|`([^`\n]*)`)')
    for name, script in SCRIPTS.items():
        if name == "german.js":
            continue
        code = re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL)
        code = re.sub(r"(?m)^\s*//.*$|\s// .*$", "", code)
        for text in tagged(code):
            code = code.replace(text, "")
        found = ["".join(pair) for pair in plain.findall(code)]
        words = [re.sub(r"\$\{.*?\}", "", text) for text in found]
        said = [w for w in words if re.search(r"[A-Za-zäöü]{2,}[,:.]? [a-zäöü]{2,}", w)]
        known = r"tight|so-far|stop-|quiet|earlier|example|px|select\[|textarea"
        known += "|prefers-|Segoe"
        assert [w for w in said if not re.search(known, w)] == [], name


# In a text node or an attribute, what is between the marks comes from the table.
UNMARKED = """() => {
  const found = [];
  const look = (text) => {
    let rest = text;
    while (/⟦[^⟦⟧]*⟧/.test(rest)) rest = rest.replace(/⟦[^⟦⟧]*⟧/g, "");
    rest = rest.replace(/⟦.*|.*⟧/, ""); // a text that the page divides
    if (/[A-Za-z]{3}/.test(rest)) found.push(rest.trim());
  };
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    if (!nodes.currentNode.parentElement.closest("noscript, template")) {
      look(nodes.currentNode.data);
    }
  }
  for (const name of ["title", "aria-label", "placeholder"]) {
    for (const element of document.querySelectorAll(`body [${name}]`)) {
      look(element.getAttribute(name));
    }
  }
  return found;
}"""
MARKED = re.sub(
    r'": "(.*)"(,?)$', r'": "⟦\1⟧"\2', SCRIPTS["german.js"], flags=re.MULTILINE
)
NAMES = ["Depot", "Bakery", "Mill", "Farm"]
TABLE = "name,lat,lon,demand\nDepot,51.1,13.7,\n" + "".join(
    f"{name},51.{i},13.8,{3 + i}\n" for i, name in enumerate(NAMES[1:])
)


@pytest.mark.slow
def test_no_text_of_the_page_is_outside_of_the_table(open_page, address):
    """From the first visit to the sheets, all words but names are of the table."""
    reader = open_page(locale="de-DE")
    page = reader.page

    def rest():
        other = r"\w+, \d+\. \w+ \d{4}|[\d.,:]+"  # dates and numbers
        found = [re.sub(other, " ", text) for text in page.evaluate(UNMARKED)]
        names = "|".join([*NAMES, "Hut", "shops", "csv", "min"])
        words = [re.sub(names, "", text).strip(" ()·+−×") for text in found]
        return [word for word in words if re.search(r"[A-Za-z]{3}", word)]

    page.route(
        "**/static/german.js*",
        lambda route: route.fulfill(body=MARKED, content_type="text/javascript"),
    )
    page.reload()
    page.wait_for_selector("html.ready")
    plans = page.locator("#earlier-list")  # names of plans of other tests
    plans.evaluate("list => list.replaceChildren()")
    assert rest() == []
    reader.choose(TABLE + "Hut,51.2,,4\n")
    reader.see("#doubts").to_be_visible()
    assert rest() == []
    page.click("#go-on")
    reader.set_fleet(1, 9)
    reader.see("#form-verdict").to_be_visible()
    page.fill("#time_limit", "0,1")
    page.click("#plan")
    reader.see("#status").to_contain_text("Fertig")
    reader.see("#left-out").to_be_visible()
    page.click(".tour-head >> nth=0")
    page.click("[data-move] >> nth=0")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    plans.evaluate("list => list.replaceChildren()")
    assert rest() == []


@pytest.mark.slow
def test_the_browser_chooses_the_language_and_a_switch_changes_it(open_page, finished):
    """A German browser shows German, and the choice of the user is kept."""
    reader = open_page(finished, locale="de-AT")
    assert reader.page.get_attribute("html", "lang") == "de"
    reader.see("#cost-of").to_have_text("7 von 7 Fahrzeugen")
    reader.see("#cost").to_contain_text(",")
    reader.page.click("#language")
    reader.see("#cost-of").to_have_text("7 of 7 vehicles")
    reader.see("#cost").to_contain_text(".")
    assert reader.page.get_attribute("html", "lang") == "en"
    reader.page.reload()
    reader.see("#language").to_have_text("Deutsch")
    assert open_page(locale="fr-FR").text("#print") == "Print"


DOUBTS = """Name;Breite;Länge;Menge;Lieferfenster
Depot;51,3;12,3;;
A;51,3;12,4;3;08:00-12:00
A;51,3;12,4;3;
B;12,4;51,3;3;
C;0;0;3;
D;51,31;12,41;0;
Lager 2;51,3;12,3;0;
E;51,32;;3;
F;51,33;12,33;viel;
G;51,33;12,33;;
H;51,33;12,34;ca. 3;
I;95,1;12,34;3;
"""
ENGLISH = r"\b(the|is|are|of|and|row|not|with|vehicles?|looks?|customer)\b"


@pytest.mark.slow
def test_what_the_server_says_is_german_too(open_page):
    """Doubts, notes, verdicts and refusals are said in German; windows are no doubt."""
    reader = open_page(locale="de-DE")
    reader.choose(DOUBTS)
    reader.see("#doubts-list li").to_have_count(10)
    said = reader.page.locator("#doubts-list p").all_inner_texts()
    said += reader.page.locator("#notes-list li").all_text_contents()
    assert [text for text in said if re.search(ENGLISH, text)] == []
    assert "Zeile 4 (A) hat Namen, Ort und Menge von Zeile 3 (A)." in said
    reader.set_fleet(1, 5)
    reader.see("#form-verdict").to_contain_text("zusammen 15, der Fuhrpark trägt")
    reader.page.set_input_files(
        "#file", {"name": "a.csv", "mimeType": "text/csv", "buffer": b" "}
    )
    reader.see("#source-error").to_have_text("Die Datei ist leer.")


@pytest.mark.slow
def test_amounts_of_the_server_are_written_as_all_others(page):
    """The server writes 20617.7, the page 20,617.7; numbers of rows stay."""
    said = page.evaluate(
        """async (sentences) => {
          const {fromServer} = await import("/static/sentences.js");
          return sentences.map(fromServer);
        }""",
        [
            "the demands sum to 20617.7, but the fleet carries 18700 kg",
            "row 1250 (Hut): the demand is 0",
            "something new",
        ],
    )
    assert said == [
        "the demands sum to 20,617.7, but the fleet carries 18,700 kg",
        "row 1250 (Hut): the demand is 0",
        "something new",
    ]


def test_all_that_is_said_about_a_firms_file_is_german(open_page):
    """Notes, doubts and the verdict of a file with many faults have no English word."""
    head = ["Status", "Kunde", "Straße", "PLZ/Ort", "Breite", "Länge", "Gew. (kg)"]
    head += ["Lieferung ab", "Lieferung bis", "Standzeit (min)", "Priorität"]
    stops = [["Liste Montag"], [], head]
    stops += [["", "Lager", "Hof 1", "01067 Dresden", 51.0, 13.7]]
    for i in range(1, 9):
        row = ["", f"Laden {i}", f"Weg {i}", "01069 Dresden", 51 + i / 99, 13.7, 5 + i]
        stops.append([*row, "08:00", "12:00", 5, i])
    stops[4][0], stops[5][4], stops[6][6] = "storniert", "", "ca. 5 kg"
    stops[7][7], stops[8][9] = "früh", "lange"
    stops += [["", "Summe", "", "", "", "", 60], ["Stand: heute"]]
    vans = [["Kennzeichen", "Nutzlast", "Schicht"], ["A 1", "1.400 kg", "6-14"]]
    good = [vans[0], ["A 1", 40, "6-14"], ["A 2", 50, "6-14"]]
    said = []
    for speed in (None, 40):
        for sheet in (vans, good):
            options = ReadOptions(
                speed=speed, allow_unreadable=True, allow_missing=True
            )
            reading = parse(format_excel(stops, {"Fuhrpark": sheet}), options)
            said += [*reading.notes, *(doubt.text for doubt in reading.doubts)]
            said.append(assess_fleet(reading.instance, time_limit=0).reason)
    assert len(set(said)) > 25
    german = open_page(locale="de-DE").page.evaluate(
        """async (sentences) => {
          const {fromServer} = await import("/static/sentences.js");
          return sentences.map(fromServer);
        }""",
        said,
    )
    english = re.compile(r"\b(the|is|are|was|not|from|column|row|and|of|sheet)\b")
    assert [text for text in german if english.search(text)] == []


@pytest.mark.slow
def test_a_plan_that_a_worker_lost_says_so_in_german(open_page, address):
    """The end of a plan is told in the language of the page."""
    plan = make_plan(address, text=TABLE, vehicles=1, capacity=99, time_limit=0.1)
    reader = open_page(f"#plan={plan['id']}", locale="de-DE")
    reader.see("#status").to_contain_text("Fertig nach")
    reader.see("#announcer").to_contain_text("Fertig: 1 Tour")
