"""Addresses in tables: each is asked for once, and none is placed by guess."""

from __future__ import annotations

import datetime
import json

import pytest

import fixedfleet as ff
from fixedfleet import addresses
from fixedfleet.cli import main
from fixedfleet.files import ReadOptions, parse
from tests.nominatim import serving

pytest.importorskip("geopy", reason="geopy is not installed")

TABLE = """Name;Straße;PLZ;Ort;Menge
Lager;Am Hafen 1;01067;Dresden;
Anna;Hauptstr. 5;01067;Dresden;3
Bert;Markt 7;01662;Meißen;4
"""
PLACES = {
    "Am Hafen 1, 01067 Dresden": (51.06, 13.72),
    "Hauptstr. 5, 01067 Dresden": (51.05, 13.74),
    "Markt 7, 01662 Meißen": (51.16, 13.47),
}


@pytest.fixture
def nominatim(tmp_path, monkeypatch):
    """A geocoder that knows the addresses of the table; places are kept apart."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with serving() as server:
        for address, place in PLACES.items():
            server.add(address, place)
        yield server


@pytest.fixture
def read(nominatim):
    """Return how to read a table by the geocoder."""

    def read(text=TABLE, **options):
        geocode = addresses.geocoder(nominatim.url, pause=0)
        fleet = {"vehicles": 2, "capacity": 9}
        return parse(text, ReadOptions(geocode=geocode, **fleet | options))

    return read


def test_addresses_become_places(read):
    """A table with street, postcode and town needs no latitude and longitude."""
    reading = read()
    instance = reading.instance
    assert instance.metric == "great_circle"
    assert instance.coordinates.tolist() == [list(p) for p in PLACES.values()]
    assert "places found by address: 3 rows" in reading.notes
    assert reading.doubts == []
    # The driver's sheet still has them.
    assert instance.columns["Straße"] == ("Am Hafen 1", "Hauptstr. 5", "Markt 7")
    assert list(instance.columns) == ["Straße", "PLZ", "Ort"]


@pytest.mark.parametrize(
    "table",
    [
        "name,address,demand\nHub,{0},\nAda,{1},3\nBob,{2},4\n",
        "Kunde,Lieferadresse,Gewicht\nHub,{0},\nAda,{1},3\nBob,{2},4\n",
    ],
)
def test_one_column_may_hold_the_address(read, table):
    """An address in one column is asked for as it is written."""
    reading = read(table.format(*(f'"{address}"' for address in PLACES)))
    assert reading.instance.coordinates[2].tolist() == [51.16, 13.47]


def test_english_headings_and_a_column_of_house_numbers(read):
    """Street, house number, zip code and city are put together."""
    table = (
        "name,street,house number,zip code,city,demand\n"
        "Hub,Am Hafen,1,01067,Dresden,\nAda,Hauptstr.,5,01067,Dresden,1\n"
    )
    assert read(table).instance.coordinates[1].tolist() == [51.05, 13.74]


def test_headings_of_ones_own_hold_addresses(read):
    """Headings that are not recognised can be named, as for other columns."""
    table = TABLE.replace("Straße", "Wohin")
    reading = read(table, columns={"street": "Wohin"})
    assert reading.instance.coordinates[1].tolist() == [51.05, 13.74]


def test_an_address_is_asked_for_once(read, nominatim):
    """Neither a second customer in the house nor the next day asks again."""
    read(TABLE + "Cleo;Hauptstr.  5;01067;Dresden;1\n")
    assert sorted(nominatim.asked) == sorted(PLACES)
    read()
    assert len(nominatim.asked) == 3


def test_coordinates_win_over_addresses(read, nominatim):
    """Only rows without latitude and longitude are asked for."""
    table = (
        "name,lat,lon,address,demand\nHub,51.0,13.0,x,\n"
        'Ada,51.1,13.1,y,1\nBob,,,"Markt 7, 01662 Meißen",1\n'
    )
    reading = read(table)
    assert nominatim.asked == ["Markt 7, 01662 Meißen"]
    assert reading.instance.coordinates[2].tolist() == [51.16, 13.47]


def test_what_is_not_found_is_listed_at_once(read, nominatim):
    """Rows that were not found, or found twice, are all named, with the address."""
    table = TABLE + "Cleo;Nirgends 9;01067;Dresden;1\nDora;Am Bach 2;01731;Kreischa;2\n"
    twice = "Am Bach 2, 01731 Kreischa"
    nominatim.add(twice, (50.94, 13.75), (50.96, 13.76))
    with pytest.raises(ff.InputError) as error:
        read(table)
    said = str(error.value)
    assert "2 rows cannot be read" in said
    assert "row 5 (Cleo): the address 'Nirgends 9, 01067 Dresden' was not found" in said
    assert f"row 6 (Dora): the address '{twice}' was found at several places" in said
    assert "place 1' and" in said and "place 2'" in said


def test_unplaced_rows_are_left_out_if_asked_for(read):
    """With the caller's consent, rows without a place are doubts with their address."""
    table = TABLE + "Cleo;Nirgends 9;01067;Dresden;1\n"
    reading = read(table, allow_unreadable=True)
    assert reading.instance.num_customers == 2
    (doubt,) = reading.doubts
    assert (doubt.kind, doubt.row, doubt.columns) == ("unreadable", 5, ["lat", "lon"])
    assert doubt.address == "Nirgends 9, 01067 Dresden"


def test_a_row_can_be_placed_by_hand(read, nominatim):
    """A correction of latitude and longitude places a row that was not found."""
    table = TABLE + "Cleo;Nirgends 9;01067;Dresden;1\n"
    placed = {5: {"lat": "51.01", "lon": "13.71"}}
    reading = read(table, corrections=placed)
    assert reading.instance.coordinates[3].tolist() == [51.01, 13.71]
    assert reading.doubts == []
    assert "Nirgends 9, 01067 Dresden" not in nominatim.asked


def test_a_place_by_hand_is_kept(read, nominatim):
    """An address that a person has placed is known from then on."""
    address = "Nirgends 9, 01067 Dresden"
    addresses.keep_place(address, nominatim.url, 51.01, 13.71)
    reading = read(TABLE + "Cleo;Nirgends 9;01067;Dresden;1\n")
    assert reading.instance.coordinates[3].tolist() == [51.01, 13.71]
    assert address not in nominatim.asked


def test_a_house_that_is_not_found_is_said(read, nominatim):
    """If only the street is known, the customer is placed there, with a warning."""
    nominatim.add(
        "Hauptstr. 500, 01067 Dresden", (51.05, 13.74), road="Hauptstr.", city="Dresden"
    )
    reading = read(TABLE.replace("Hauptstr. 5;", "Hauptstr. 500;"))
    (doubt,) = reading.doubts
    assert (doubt.kind, doubt.customers) == ("guess", [1])
    assert "only the street was found" in doubt.text
    assert reading.instance.coordinates[1].tolist() == [51.05, 13.74]


def test_a_town_is_no_address(read, nominatim):
    """If only the town is known, the row is not placed in its middle."""
    nominatim.add("Weg 1, 01067 Dresden", (51.05, 13.74), city="Dresden")
    with pytest.raises(ff.InputError, match="was not found, but 'Weg 1"):
        read(TABLE.replace("Hauptstr. 5;", "Weg 1;"))


def test_one_house_may_be_found_twice(read, nominatim):
    """A shop and its house at the same place are one place."""
    nominatim.add("Markt 7, 01662 Meißen", (51.16, 13.47), (51.1601, 13.4701))
    assert read().instance.coordinates[2].tolist() == [51.16, 13.47]


def test_an_address_that_is_not_found_is_asked_for_again_tomorrow(
    read, nominatim, monkeypatch
):
    """Today it is not asked for again; tomorrow it may be on the map."""
    table = TABLE + "Cleo;Nirgends 9;01067;Dresden;1\n"
    for _ in range(2):
        read(table, allow_unreadable=True)
    assert nominatim.asked.count("Nirgends 9, 01067 Dresden") == 1

    class Tomorrow(datetime.date):
        @classmethod
        def today(cls):
            return datetime.date.today() + datetime.timedelta(days=1)

    monkeypatch.setattr(addresses, "date", Tomorrow)
    read(table, allow_unreadable=True)
    assert nominatim.asked.count("Nirgends 9, 01067 Dresden") == 2
    assert len(nominatim.asked) == 5


def test_the_pause_is_kept(nominatim, monkeypatch):
    """Between two requests is the pause that the operator asks for; none is before."""
    pauses = []
    monkeypatch.setattr(addresses.time, "sleep", pauses.append)
    progress = []
    find = addresses.geocoder(nominatim.url, on_progress=progress.append)
    find(list(PLACES))
    assert pauses == [1.0, 1.0]
    assert [one.done for one in progress] == [1, 2, 3]


def test_what_was_found_before_an_error_is_kept(nominatim, monkeypatch):
    """After a server has failed, the next call asks for the rest only."""
    ask = addresses._ask

    def fails(server, url, address):
        if len(nominatim.asked) == 2:
            raise ff.InputError("gone")
        return ask(server, url, address)

    monkeypatch.setattr(addresses, "_ask", fails)
    find = addresses.geocoder(nominatim.url, pause=0)
    with pytest.raises(ff.InputError, match="gone"):
        find(list(PLACES))
    monkeypatch.setattr(addresses, "_ask", ask)
    assert len(find(list(PLACES))) == 3
    assert len(nominatim.asked) == 3


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (429, "was asked too often"),
        (500, "does not answer as Nominatim does"),
        (403, "does not answer as Nominatim does"),
    ],
)
def test_a_geocoder_that_refuses_is_named(nominatim, status, said):
    """The sentence has the server and the address."""
    nominatim.status = status
    with pytest.raises(ff.InputError, match=said) as error:
        addresses.find_places(["Markt 1, X"], nominatim.url)
    assert nominatim.url in str(error.value) and "'Markt 1, X'" in str(error.value)


def test_no_geocoder_is_named():
    """If nothing listens at the address of the geocoder, this is said."""
    with pytest.raises(ff.InputError, match=r"127\.0\.0\.1:9 cannot be reached"):
        addresses.find_places(["Markt 1, X"], "http://127.0.0.1:9")


@pytest.mark.parametrize("url", ["nominatim.org", "file:///etc", "http://a?b=c"])
def test_an_address_of_no_server_is_refused(url):
    """What cannot be a server is refused before a file is read."""
    with pytest.raises(ff.InputError, match="not the address of a Nominatim server"):
        addresses.geocoder(url)


def test_a_damaged_file_of_places_is_named(tmp_path):
    """Places by hand may be in it, so it is not overwritten."""
    (tmp_path / "addresses.json").write_text('{"http')
    with pytest.raises(ff.InputError, match=r"addresses\.json cannot be read"):
        addresses.find_places(["Markt 1, X"], "http://127.0.0.1:9", folder=tmp_path)


def test_without_a_geocoder_the_sentence_says_what_to_do(tmp_path, capsys):
    """A table with addresses only is refused with both ways out."""
    path = tmp_path / "day.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert main(["solve", str(path), "--vehicles=2", "--capacity=9"]) == 2
    said = capsys.readouterr().err
    assert "the table has addresses, but no latitudes and longitudes" in said
    assert "with --geocoder, or add columns lat and lon" in said


@pytest.mark.slow
def test_solve_plans_addresses(nominatim, tmp_path, capsys):
    """On the command line, rows without a place are left out with a warning."""
    path = tmp_path / "day.csv"
    text = TABLE + "Cleo;Nirgends 9;01067;Dresden;1\n"
    path.write_text(text, encoding="utf-8")
    output = tmp_path / "plan.json"
    options = ["--vehicles=2", "--capacity=9", "--time-limit=0.1", f"--output={output}"]
    pace = [f"--geocoder={nominatim.url}", "--geocoder-pause=0"]
    assert main(["solve", str(path), *options, *pace]) == 0
    said = capsys.readouterr()
    assert "warning: row 5 (Cleo): the address 'Nirgends 9" in said.err
    (tour,) = json.loads(output.read_text(encoding="utf-8"))["tours"]
    assert sorted(tour["names"]) == ["Anna", "Bert"]
    assert main(["solve", str(path), *options, *pace, "--strict"]) == 2
