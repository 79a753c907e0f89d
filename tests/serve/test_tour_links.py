"""Links that open the tours of a plan on a phone."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("segno")

from fixedfleet.instance import Instance
from fixedfleet.plan import Plan
from fixedfleet.serve.tour_links import tour_links


def round_trip(customers: int, metric="great_circle") -> Instance:
    """An instance whose customer i is at latitude 50 + i / 100, longitude 13."""
    return Instance(
        depot=(50, 13),
        customers=[(50 + i / 100, 13) for i in range(1, customers + 1)],
        demands=[1] * customers,
        capacity=customers,
        vehicles=1,
        metric=metric,
    )


def places(link) -> list[str]:
    """Return the places of a link in their order."""
    query = parse_qs(urlsplit(link.address).query)
    between = query.get("waypoints", [""])[0].split("|")
    return [query["origin"][0], *filter(None, between), query["destination"][0]]


@pytest.mark.parametrize("stops", [1, 2, 9, 10, 11, 20, 21, 25])
def test_links_lead_along_the_whole_tour(stops):
    """Links begin where the last one ends, and none has more than 11 places."""
    tour = tuple(range(1, stops + 1))
    (links,) = tour_links(Plan([tour]), round_trip(stops))
    whole = [f"{50 + i / 100:.5f},13.00000" for i in (0, *tour)]
    way = places(links[0])
    for link in links[1:]:
        assert places(link)[0] == way[-1]
        way += places(link)[1:]
    assert way in (whole, [*whole, whole[0]])
    assert max(len(places(link)) for link in links) <= 11
    numbers = [number for link in links for number in (link.first, link.last)]
    assert numbers[0] == 1 and numbers[-1] == stops
    assert numbers[2::2] == [last + 1 for last in numbers[1:-1:2]]


def test_a_code_is_a_square_with_its_three_marks():
    """The QR code has the finder pattern in three of its corners, and no margin."""
    ((link,),) = tour_links(Plan([[1]]), round_trip(1))
    code = np.array([list(map(int, row)) for row in link.code])
    assert code.shape == (len(link.code),) * 2
    mark = np.ones((7, 7), dtype=int)
    mark[1:6, 1:6] = 0
    mark[2:5, 2:5] = 1
    for corner in (code[:7, :7], code[:7, -7:], code[-7:, :7]):
        assert (corner == mark).all()
    assert not (code[-7:, -7:] == mark).all()


def test_places_in_a_plane_have_no_links():
    """A maps app needs latitude and longitude."""
    assert tour_links(Plan([[1], [2]]), round_trip(2, "euclidean")) == [[], []]


def test_the_links_are_those_of_the_changed_tours(client):
    """After a change the links follow; a plan without tours is refused."""
    table = "name,lat,lon,demand\ndepot,51,13,\nA,51.1,13.1,2\nB,51.2,13.2,2\n"
    asked = {"text": table, "vehicles": 2, "capacity": 2, "wait": 30}
    id = client.post("/plans", json=asked).json()["id"]
    assert [len(links) for links in client.get(f"/plans/{id}/links").json()] == [1, 1]
    client.put(f"/plans/{id}/tours", json={"tours": [[2]], "taken_out": [1]})
    ((link,),) = client.get(f"/plans/{id}/links").json()
    assert "51.20000,13.20000" in link["address"] and "51.1" not in link["address"]
    assert client.get("/plans/none/links").status_code == 404
