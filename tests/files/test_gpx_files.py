"""Plans as GPX."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np

import fixedfleet as ff
from fixedfleet.files.gpx_files import format_plan

GPX = "{http://www.topografix.com/GPX/1/1}"


def test_lines_along_roads_become_tracks_beside_the_routes():
    """Each tour has a route of its stops and a track of its line, in this order."""
    instance = ff.Instance(
        depot=(51.0, 13.0),
        customers=[(51.1, 13.1), (51.2, 13.25)],
        demands=[1, 1],
        capacity=1,
        vehicles=2,
        metric="great_circle",
    )
    there = np.array([[51.0, 13.0], [51.05, 13.123456789], [51.0, 13.0]])
    text = format_plan(ff.Plan([[2], [1]]), instance, ["A & B", ""], [there, there[:2]])
    root = ElementTree.fromstring(text)
    assert [one.tag for one in root] == [f"{GPX}rte"] * 2 + [f"{GPX}trk"] * 2
    assert [one.findtext(f"{GPX}name") for one in root] == ["A & B", "Tour 2"] * 2
    first, second = (track.findall(f"*/{GPX}trkpt") for track in root[2:])
    assert (len(first), len(second)) == (3, 2)
    assert first[1].attrib == {"lat": "51.050000", "lon": "13.123457"}
