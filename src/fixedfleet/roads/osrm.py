"""Sends requests to an OSRM server, by version 1 of its HTTP API."""

from __future__ import annotations

import json
import socket
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import numpy as np

from fixedfleet.errors import InputError, check_server_url
from fixedfleet.version import own_version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "MOST_IN_ROUTE",
    "RoadsError",
    "Table",
    "ask_route",
    "ask_table",
    "check_url",
]

MOST_IN_ROUTE = 100  # the largest number of places in a request; its URL holds them
# OSRM requires a profile in the URL, but ignores it: a server has the roads of one kind
# of vehicle.
_PROFILE = "driving"
_SECONDS = 60.0  # the longest time that a server may take to answer
_LONGEST_QUOTE = 120  # the most characters that are quoted from a server's message
# Decimals of degrees, which mean about 0.1 m. OSRM itself has no more decimals.
_DIGITS = 6


class RoadsError(InputError):
    """
    Raised if an OSRM server does not answer, or if it refuses a request.

    ``code`` is OSRM's error code, such as "TooBig"; empty if the server gave none.
    """

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class Table(NamedTuple):
    """
    The metres and seconds by road from each source to each destination.

    An entry is inf if no road leads from the source to the destination. ``away`` has
    the metres from each source to the nearest road.
    """

    metres: NDArray[np.float64]  # (sources, destinations), whole numbers
    seconds: NDArray[np.float64]  # (sources, destinations), whole numbers
    away: NDArray[np.float64]  # (sources,): metres from each source to its road


def check_url(url: str) -> str:
    """
    Return a server's URL without a slash at its end.

    Raise InputError if it is not the URL of a server.
    """
    server = "an OSRM server, such as http://localhost:5000"
    return check_server_url("roads", url, server)


def ask_table(
    url: str, sources: NDArray[np.float64], destinations: NDArray[np.float64]
) -> Table:
    """
    Return the metres and seconds by road from each source to each destination.

    Sources and destinations are (latitude, longitude), shape (n, 2).

    Raises
    ------
    RoadsError
        If the server does not answer, or refuses. The code is "TooBig" if the table has
        too many places.
    """
    split = len(sources)
    places = np.vstack((sources, destinations))
    options = {
        "annotations": "duration,distance",
        "generate_hints": "false",
        "sources": ";".join(map(str, range(split))),
        "destinations": ";".join(map(str, range(split, len(places)))),
    }
    answer = _ask(url, "table", places, options)
    shape = (split, len(destinations))
    try:
        return Table(
            _numbers(answer["distances"], shape),
            _numbers(answer["durations"], shape),
            _numbers([one["distance"] for one in answer["sources"]], shape[:1]),
        )
    except (KeyError, TypeError, ValueError):
        raise _not_osrm(url) from None


def ask_route(url: str, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """
    Return the line along roads that passes through the places in this order.

    Places and line are arrays of (latitude, longitude), shape (n, 2).
    """
    options = {"overview": "full", "geometries": "geojson", "generate_hints": "false"}
    answer = _ask(url, "route", places, options)
    try:
        line = np.array(answer["routes"][0]["geometry"]["coordinates"], dtype=float)
        return np.ascontiguousarray(line.reshape(-1, 2)[:, ::-1])
    except (KeyError, IndexError, TypeError, ValueError):
        raise _not_osrm(url) from None


def _ask(
    url: str, service: str, places: NDArray[np.float64], options: dict[str, str]
) -> dict[str, Any]:
    """
    Return the JSON document that a service of OSRM, such as "route", answers.

    ``places`` are (latitude, longitude), shape (n, 2). ``options`` is the query of the
    URL. Raise RoadsError if the server does not answer, or if it refuses.
    """
    path = ";".join(f"{lon:.{_DIGITS}f},{lat:.{_DIGITS}f}" for lat, lon in places)
    query = "&".join(f"{name}={value}" for name, value in options.items())
    address = f"{url}/{service}/v1/{_PROFILE}/{path}?{query}"
    request = Request(address, headers={"User-Agent": f"fixedfleet/{own_version()}"})
    try:
        try:
            with urlopen(request, timeout=_SECONDS) as response:
                answer = _document(url, response.read())
        except HTTPError as refusal:  # OSRM says in a JSON document why it refuses
            with refusal:
                answer = _document(url, refusal.read(), refusal.code)
    except (URLError, HTTPException, OSError) as error:
        cause = getattr(error, "reason", error)
        if isinstance(cause, TimeoutError):
            raise RoadsError(
                f"the OSRM server {url} did not answer within {_SECONDS:g} s: try "
                "again later, or use another server"
            ) from None
        raise RoadsError(
            f"no OSRM server answers at {url} ({_reason(cause)}): start it, or correct "
            "the address"
        ) from None
    if answer["code"] != "Ok":
        code = str(answer["code"])
        said = str(answer.get("message", code))[:_LONGEST_QUOTE]
        raise RoadsError(f"the OSRM server {url} refuses: {said}", code)
    return answer


def _document(url: str, body: bytes, status: int = 200) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or "code" not in answer:
        raise _not_osrm(url, status)
    return answer


def _not_osrm(url: str, status: int = 200) -> RoadsError:
    said = "" if status == 200 else f" (status {status})"
    return RoadsError(
        f"{url} does not answer as an OSRM server does{said}: give the address of one, "
        "such as http://localhost:5000"
    )


def _reason(cause: object) -> str:
    """Return in a few words why a connection failed."""
    if isinstance(cause, socket.gaierror):
        return "unknown host"
    text = getattr(cause, "strerror", None) or str(cause) or type(cause).__name__
    return str(text)[:_LONGEST_QUOTE]


def _numbers(values: Sequence[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """
    Return a JSON list as an array of numbers, rounded to whole numbers; null is inf.

    Raise ValueError if the array does not have this shape.
    """
    array = np.rint(np.array(values, dtype=np.float64))
    array[np.isnan(array)] = np.inf
    if array.shape != shape:
        raise ValueError(f"{array.shape} instead of {shape}")
    return array
