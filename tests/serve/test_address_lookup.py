"""Tables with addresses, sent to the service."""

from __future__ import annotations

import pytest

pytest.importorskip("geopy", reason="geopy is not installed")

from fixedfleet.serve import address_lookup
from tests.nominatim import serving

TABLE = """Name;Straße;PLZ;Ort;Menge
Lager;Am Hafen 1;01067;Dresden;
Anna;Hauptstr. 5;01067;Dresden;3
Bert;Markt 7;01662;Meißen;4
Cleo;Nirgends 9;01067;Dresden;1
"""
FLEET = {"vehicles": 2, "capacity": 9}


@pytest.fixture
def nominatim():
    """A geocoder that knows all addresses of the table but one."""
    with serving() as server:
        server.add("Am Hafen 1, 01067 Dresden", (51.06, 13.72))
        server.add("Hauptstr. 5, 01067 Dresden", (51.05, 13.74))
        server.add("Markt 7, 01662 Meißen", (51.16, 13.47))
        yield server


@pytest.fixture
def client(make_client, nominatim):
    """A client to a service that looks up addresses."""
    with make_client(geocoder=nominatim.url, geocoder_pause=0.0) as client:
        yield client


def ask(client, path="/instances", **changes):
    """Send the table."""
    return client.post(path, json={"text": TABLE, **FLEET, **changes})


def test_addresses_are_looked_up(client):
    """All rows are placed but one, which is a doubt with its address."""
    read = ask(client).json()
    assert read["instance"]["customers"] == [[51.05, 13.74], [51.16, 13.47]]
    (doubt,) = read["doubts"]
    assert doubt["kind"] == "unreadable" and doubt["columns"] == ["lat", "lon"]
    assert doubt["address"] == "Nirgends 9, 01067 Dresden"


def test_a_place_by_hand_is_kept(client, nominatim):
    """A click on the map places an address for this and all later files."""
    ask(client)
    place = {"address": "Nirgends 9, 01067 Dresden", "latitude": 51, "longitude": 13.7}
    assert client.put("/places", json=place).status_code == 200
    read = ask(client).json()
    assert read["doubts"] == []
    assert read["instance"]["customers"][2] == [51, 13.7]
    assert len(nominatim.asked) == 4


@pytest.mark.parametrize(
    ("change", "where"),
    [({"latitude": 91}, "latitude"), ({"address": ""}, "address"), ({"x": 1}, "x")],
)
def test_a_wrong_place_is_refused(client, change, where):
    """A place that is not on the globe, or of no address, is not kept."""
    place = {"address": "A 1", "latitude": 51, "longitude": 13.7} | change
    answer = client.put("/places", json=place)
    assert (answer.status_code, answer.json()["where"]) == (422, where)


def test_a_plan_of_addresses_is_made(client):
    """The table can be sent for a plan as well."""
    plan = ask(client, "/plans", wait=30).json()
    assert plan["status"] == "done" and plan["result"]["customers"] == 2


def test_a_long_look_up_is_asked_for_again(make_client, nominatim, monkeypatch):
    """While addresses are looked up, the answer says how many are known."""
    monkeypatch.setattr(address_lookup, "_WAIT", 0.0)
    with make_client(geocoder=nominatim.url, geocoder_pause=0.0) as client:
        answer = ask(client)
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
        told = answer.json()
        assert told["where"] == "addresses" and told["progress"]["total"] == 4
        monkeypatch.setattr(address_lookup, "_WAIT", 30.0)
        assert ask(client).status_code == 200


def test_a_geocoder_that_fails_is_named(make_client):
    """The sentence names the geocoder; there is no progress to wait for."""
    with make_client(geocoder="http://127.0.0.1:9", geocoder_pause=0.0) as client:
        answer = ask(client)
    assert answer.status_code == 503 and "progress" not in answer.json()
    assert "the geocoder http://127.0.0.1:9 cannot be reached" in answer.json()["error"]


def test_the_page_knows_whether_addresses_are_looked_up(client, make_client):
    """The settings say so, and a server without a geocoder says what is needed."""
    assert client.get("/settings").json()["geocoder"] is True
    with make_client() as plain:
        assert plain.get("/settings").json()["geocoder"] is False
        answer = ask(plain)
        assert answer.status_code == 422
        assert "the server's option --geocoder" in answer.json()["error"]
        place = {"address": "A 1", "latitude": 51, "longitude": 13.7}
        assert plain.put("/places", json=place).status_code == 409
