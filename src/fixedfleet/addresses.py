"""
Find the places of addresses with a Nominatim server.

The server is asked for each address once, and the places that it finds are kept on
disk. If it finds no place, it is asked again from the next day on. A place is never
guessed silently: a remark says if an address was not found, was found at several
places, or was found without its house number.
"""

from __future__ import annotations

import json
import re
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from fixedfleet.data_folder import default_folder
from fixedfleet.distances import measure
from fixedfleet.errors import (
    InputError,
    at_least,
    between,
    check_number,
    check_server_url,
    require,
)
from fixedfleet.files.address_columns import Place
from fixedfleet.files.atomic import exclusive, write_text
from fixedfleet.progress import Progress
from fixedfleet.version import own_version

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from fixedfleet.files.address_columns import Geocode

    Folder = str | os.PathLike[str]

__all__ = [
    "PAUSE",
    "check_url",
    "find_places",
    "geocoder",
    "keep_place",
    "known_places",
    "plain_address",
]

PAUSE = 1.0  # seconds between two requests: what the public server allows
_FILE = "addresses.json"
_SECONDS = 30.0  # a server that does not answer within this time is given up
_CANDIDATES = 5  # most places that the server returns for one address
_APART_KM = 0.3  # candidates that are closer together count as one place
_KEEP_EVERY = 20  # the answers are written after each such number of addresses
_LONGEST_QUOTE = 120  # characters
# A street name followed by a house number: "Hauptstr. 5", "Am Markt 12 b".
_HOUSE = re.compile(r"[^\W\d]\.?\s+\d{1,4}\s?[a-z]?(?=$|[\s,;/-])", re.IGNORECASE)


def geocoder(
    url: str,
    *,
    pause: float = PAUSE,
    folder: Folder | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Geocode:
    """
    Return a function that finds the places of the addresses in a table.

    Use it as in ``ff.read("day.xlsx", geocode=ff.addresses.geocoder(url))``. The
    arguments are those of :func:`find_places`, and are checked at once.
    """
    url, pause = check_url(url), check_number("pause", pause, at_least(0))
    _nominatim(url)

    def find(addresses: Sequence[str]) -> list[Place]:
        return find_places(
            addresses, url, pause=pause, folder=folder, on_progress=on_progress
        )

    return find


def find_places(
    addresses: Sequence[str],
    url: str,
    *,
    pause: float = PAUSE,
    folder: Folder | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> list[Place]:
    """
    Return the place of each address, in the same order.

    Parameters
    ----------
    addresses
        The addresses, each on one line: "Hauptstr. 5, 01067 Dresden".
    url
        The Nominatim server: ``https://nominatim.openstreetmap.org``, or your own.
    pause
        Seconds between two requests. The public server allows one request per second;
        your own may allow any number (0).
    folder
        Where to keep the places. Default: the user's data folder.
    on_progress
        Called with the progress after each address that the server was asked for.

    Raises
    ------
    InputError
        If the server cannot be reached or does not answer. Its earlier answers are
        kept.
    """
    url = check_url(url)
    known = known_places(url, folder)
    wanted = dict.fromkeys(map(plain_address, addresses))
    missing = [key for key in wanted if key not in known]
    found = len(wanted) - len(missing)
    new: dict[str, Place] = {}
    server, begin = None, time.monotonic()
    try:
        for number, key in enumerate(missing, 1):
            if server is None:
                server = _nominatim(url)
            else:
                time.sleep(pause)
            new[key] = _judge(key, _ask(server, url, key))
            if on_progress is not None:
                passed = time.monotonic() - begin
                done = Progress(found + number, len(wanted), found, passed, "addresses")
                on_progress(done)
            if number % _KEEP_EVERY == 0:
                _keep(new, url, folder)
    finally:  # after an error or Ctrl-C, the next call begins where this one ended
        if new:
            _keep(new, url, folder)
    places = known | new
    return [places[plain_address(address)] for address in addresses]


def known_places(url: str, folder: Folder | None = None) -> dict[str, Place]:
    """
    Return the places that a server has found before, by address.

    The addresses are in the form that :func:`plain_address` returns. If the server was
    asked for an address today and found no place, the address is contained as well; the
    coordinates of its :class:`Place` are None.
    """
    today = date.today().isoformat()
    return {
        key: Place(entry["lat"], entry["lon"], entry["remark"])
        for key, entry in _read(_path(folder)).get(check_url(url), {}).items()
        if entry["lat"] is not None or entry["day"] == today
    }


def keep_place(
    address: str,
    url: str,
    latitude: float,
    longitude: float,
    folder: Folder | None = None,
) -> None:
    """
    Store the coordinates that a person has given for an address.

    Later lookups of the address by the geocoder at ``url`` return them. ``folder`` is
    the data folder in which they are stored.
    """
    lat = check_number("latitude", latitude, between(-90, 90))
    lon = check_number("longitude", longitude, between(-180, 180))
    _keep({plain_address(address): Place(lat, lon)}, check_url(url), folder)


def check_url(url: str) -> str:
    """
    Return a server's URL without a slash at its end.

    Raise InputError if it is not the URL of a server.
    """
    server = "a Nominatim server, such as https://nominatim.openstreetmap.org"
    return check_server_url("geocoder", url, server)


def plain_address(address: str) -> str:
    """
    Return an address with each run of blanks replaced by a single blank.

    In this form, addresses are the keys of the kept places.
    """
    return " ".join(address.split())


def _nominatim(url: str) -> Any:
    """Return geopy's client for the server."""
    parts = urlsplit(url)
    geocoders = require("geopy.geocoders", "addresses", "looking up addresses")
    return geocoders.Nominatim(
        domain=parts.netloc + parts.path,
        scheme=parts.scheme,
        user_agent=f"fixedfleet/{own_version()}",
        timeout=_SECONDS,
    )


def _ask(server: Any, url: str, address: str) -> list[dict[str, Any]]:
    """Return the server's candidates for an address, each as a dict of its JSON."""
    errors = require("geopy.exc", "addresses", "looking up addresses")
    try:
        found = server.geocode(
            address, exactly_one=False, limit=_CANDIDATES, addressdetails=True
        )
        return [one.raw for one in found or ()]
    except errors.GeocoderTimedOut:
        why = f"did not answer within {_SECONDS:g} s"
    except (errors.GeocoderQuotaExceeded, errors.GeocoderRateLimited):
        why = "says that it was asked too often: ask more slowly (a longer pause)"
    except errors.GeocoderUnavailable:
        why = "cannot be reached: start it, or correct the address"
    except (
        errors.GeopyError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        why = f"does not answer as Nominatim does ({str(error)[:_LONGEST_QUOTE]})"
    raise InputError(f"the geocoder {url} {why}; it was asked for {address!r}")


def _judge(address: str, candidates: list[dict[str, Any]]) -> Place:
    """
    Choose the place of an address from the candidates that the server has found.

    If only the street was found, its place is returned. If no candidate is suitable, or
    if the candidates are at several places, the coordinates of the returned place are
    None. In all these cases, its remark says what is wrong.
    """
    if not candidates:
        return Place(None, None, f"the address {address!r} was not found")
    remark = ""
    if _HOUSE.search(address):
        houses = [one for one in candidates if "house_number" in _details(one)]
        streets = [one for one in candidates if "road" in _details(one)]
        if not (houses or streets):
            said = _title(candidates[0])
            remark = f"the address {address!r} was not found, but {said!r} was"
            return Place(None, None, remark)
        if not houses:
            remark = f"of the address {address!r}, only the street was found"
        candidates = houses or streets
    points = np.array([[float(one["lat"]), float(one["lon"])] for one in candidates])
    away = measure(points[:1], points, "great_circle", "none")
    if away.max() > _APART_KM:
        other = _title(candidates[int(away.argmax())])
        remark = (
            f"the address {address!r} was found at several places: "
            f"{_title(candidates[0])!r} and {other!r}"
        )
        return Place(None, None, remark)
    latitude, longitude = points[0].tolist()
    return Place(latitude, longitude, remark)


def _details(candidate: dict[str, Any]) -> dict[str, Any]:
    details = candidate.get("address")
    return details if isinstance(details, dict) else {}


def _title(candidate: dict[str, Any]) -> str:
    return str(candidate.get("display_name", ""))[:_LONGEST_QUOTE]


def _path(folder: Folder | None) -> Path:
    return (default_folder() if folder is None else Path(folder)) / _FILE


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the content of the file of places: by server, then by address."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError:
        raise InputError(
            f"{path} cannot be read: move it away, and the addresses are asked for "
            "again"
        ) from None
    return dict(kept)


def _keep(places: Mapping[str, Place], url: str, folder: Folder | None) -> None:
    """
    Add places to the file of places.

    Several processes may call this at the same time.
    """
    path, today = _path(folder), date.today().isoformat()
    path.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(path):
        kept = _read(path)
        of_server = kept.setdefault(url, {})
        for key, place in places.items():
            lat, lon, remark = place
            of_server[key] = {"lat": lat, "lon": lon, "remark": remark, "day": today}
        write_text(path, json.dumps(kept, ensure_ascii=False, indent=0))
