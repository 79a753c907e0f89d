"""Distances and travel times by road between the locations of an instance."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fixedfleet.data_folder import default_folder
from fixedfleet.distances import KM_PER_MILE
from fixedfleet.errors import InputError
from fixedfleet.progress import Progress
from fixedfleet.roads.kept_legs import Legs, empty_legs, keep_legs, kept_path, read_legs
from fixedfleet.roads.osrm import RoadsError, ask_table, check_url
from fixedfleet.wording import count

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance
    from fixedfleet.roads.osrm import Table

    Rows = NDArray[np.int64]

__all__ = ["with_kept_roads", "with_roads"]

# The largest number of sources, and of destinations, in one request. By default, a
# server allows tables of this size. The address has less than 8 kB, so most proxies let
# it through.
_BLOCK = 100
_REACH = 1000.0  # the largest distance from a location to its road, in metres
_DIGITS = 6  # decimals of degrees; OSRM itself has no more
_NAMED = 5  # the largest number of locations in a message


def with_roads(
    instance: Instance,
    url: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    on_progress: Callable[[Progress], object] | None = None,
) -> Instance:
    """
    Return the instance with distances and travel times by road, from an OSRM server.

    Travel times are minutes, so all other times of the instance count as minutes, too.
    The answers are kept on disk by coordinates, so that a later call asks only for
    pairs of locations that are new. Every call asks for some known pairs again. If an
    answer differs, the server has other roads now, and all kept answers are dropped.

    Parameters
    ----------
    instance
        The instance. Its coordinates must be latitudes and longitudes.
    url
        The address of the server: ``http://localhost:5000``.
    folder
        Where to keep the answers. Default: the user's data folder.
    on_progress
        Called with the progress after each answer of the server.

    Raises
    ------
    InputError
        If the server cannot be asked, if no road is within 1 km of a location, or if
        there is no way between two locations.
    """
    survey, legs, path = _begin(instance, url, folder)
    is_new = survey.has_changed(legs)
    if is_new:
        legs = empty_legs(legs.places)
    if np.isnan(legs.metres).any():
        try:
            survey.ask_missing(legs, on_progress)
        finally:  # after an error or Ctrl-C, the next call begins where this one ended
            keep_legs(path, legs, forget=is_new)
    return survey.with_legs(legs)


def with_kept_roads(
    instance: Instance, url: str, *, folder: str | os.PathLike[str] | None = None
) -> Instance:
    """
    Like :func:`with_roads`, but do not ask the server if all answers are kept on disk.

    So the length of a plan can be computed even if the server cannot be reached.
    """
    survey, legs, _ = _begin(instance, url, folder)
    if np.isnan(legs.metres).any():
        return with_roads(instance, url, folder=folder)
    return survey.with_legs(legs)


def _begin(
    instance: Instance, url: str, folder: str | os.PathLike[str] | None
) -> tuple[_Survey, Legs, Path]:
    """
    Return the :class:`_Survey` of an instance, its legs kept on disk, and their file.

    Raise InputError if the instance has no latitudes and longitudes.
    """
    if instance.metric not in ("great_circle", "road"):
        raise InputError(
            f"roads need latitudes and longitudes, but the instance has "
            f"{instance.metric} distances"
        )
    url = check_url(url)
    path = kept_path(default_folder() if folder is None else Path(folder), url)
    survey = _Survey(instance, url)
    return survey, read_legs(path).between(survey.places), path


class _Survey:
    """
    Asks a server about the places of an instance, and names them in messages.

    All locations with the same coordinates are one place.
    """

    def __init__(self, instance: Instance, url: str) -> None:
        self._instance, self._url = instance, url
        points = np.round(instance.coordinates, _DIGITS)
        _, first, number = np.unique(
            points, axis=0, return_index=True, return_inverse=True
        )
        # Places are in the order of their first locations, so the depot's is the first.
        order = np.argsort(first)
        self._locations = first[order]  # the first location at each place
        self._place_of = np.argsort(order)[number.ravel()]  # the place of each location
        self.places = points[self._locations]

    def with_legs(self, legs: Legs) -> Instance:
        """Return the instance with these distances and travel times."""
        self._require_ways(legs)
        instance, pairs = self._instance, np.ix_(self._place_of, self._place_of)
        unit = 1000.0 * (KM_PER_MILE if instance.length_unit == "mi" else 1.0)
        return replace(
            instance,
            matrix=legs.metres[pairs] / unit,
            metric="road",
            detour=1.0,
            time_matrix=legs.seconds[pairs] / 60,
            speed=None,
            time_unit="min",
        )

    def has_changed(self, legs: Legs) -> bool:
        """Ask for some known legs again; return whether any answer has changed."""
        known = np.isfinite(legs.metres)
        np.fill_diagonal(known, False)
        source = int(known.sum(axis=1).argmax())
        ends = np.flatnonzero(known[source])[:_BLOCK]
        if not len(ends):
            return False
        table = self._table(legs, np.array([source]), ends)
        pairs = ((table.metres, legs.metres), (table.seconds, legs.seconds))
        return any((new[0] != old[source, ends]).any() for new, old in pairs)

    def ask_missing(
        self, legs: Legs, on_progress: Callable[[Progress], object] | None
    ) -> None:
        """Ask for all legs that are not known, and enter them into ``legs``."""
        self._require_roads(legs)
        begin, total = time.monotonic(), legs.metres.size
        found = total - int(np.isnan(legs.metres).sum())
        size = _BLOCK
        while (missing := np.isnan(legs.metres)).any():
            rows, columns = next(_blocks(missing, size))
            try:
                table = self._table(legs, rows, columns)
            except RoadsError as error:
                if error.code != "TooBig" or size == 1:
                    raise
                size = -(-size // 2)
                continue
            block = np.ix_(rows, columns)
            legs.metres[block], legs.seconds[block] = table.metres, table.seconds
            if on_progress is not None:
                done = total - int(np.isnan(legs.metres).sum())
                seconds = time.monotonic() - begin
                on_progress(Progress(done, total, found, seconds, "pairs of places"))

    def _require_roads(self, legs: Legs) -> None:
        """Raise InputError if new places have no road within 1 km, and name them."""
        new = np.flatnonzero(np.isnan(np.diagonal(legs.metres)))
        far: list[str] = []
        for rows in _pieces(new, _BLOCK):
            away = self._table(legs, rows, np.array([0])).away
            far += [
                f"{self._name(row)} ({metres / 1000:.1f} km)"
                for row, metres in zip(rows, away, strict=True)
                if metres > _REACH
            ]
        if far:
            more = f" and {len(far) - _NAMED} more" if len(far) > _NAMED else ""
            raise InputError(
                f"no road of the OSRM server {self._url} is within "
                f"{_REACH / 1000:g} km of {', '.join(far[:_NAMED])}{more}: correct the "
                "latitude and longitude, or use a server with a larger map"
            )

    def _require_ways(self, legs: Legs) -> None:
        """Raise InputError if no road leads from one place to another."""
        none = np.isinf(legs.metres)
        if not none.any():
            return
        # Name a pair with the depot if there is one: it shows which place is cut off.
        starts, ends = np.nonzero(none)
        first = int(np.argmin(np.minimum(starts, ends)))
        start, end = self._name(starts[first]), self._name(ends[first])
        alone = np.flatnonzero(none[0] | none[:, 0])
        cut = (
            f"; {count(len(alone), 'place')} cannot be reached from the depot and left"
        )
        raise InputError(
            f"there is no way by road from {start} to {end}, as the OSRM server "
            f"{self._url} says{cut if len(alone) else ''}: correct their latitude and "
            "longitude, or leave them out"
        )

    def _table(self, legs: Legs, rows: Rows, columns: Rows) -> Table:
        try:
            return ask_table(self._url, legs.places[rows], legs.places[columns])
        except RoadsError as error:
            place = re.search(r"coordinate (\d+)", str(error))
            if error.code != "NoSegment" or place is None:
                raise
            name = self._name(np.append(rows, columns)[int(place[1])])
            raise InputError(
                f"no road of the OSRM server {self._url} is near {name}: correct its "
                "latitude and longitude, or use a server with a larger map"
            ) from None

    def _name(self, place: np.int64) -> str:
        location = int(self._locations[place])
        name = self._instance.label_of(location)
        return f"the depot {name!r}" if location == 0 else f"customer {name!r}"


def _blocks(missing: NDArray[np.bool_], size: int) -> Iterator[tuple[Rows, Rows]]:
    """
    Yield blocks (rows, columns) of a matrix that together cover its missing entries.

    ``missing`` marks these entries, shape (P, P): the legs between P places that are
    not known. A block has at most ``size`` rows and ``size`` columns. Rows with the
    same missing columns share a block, so that few known entries are asked for again.
    If one place is new, the blocks are its row and its column.
    """
    alike: dict[bytes, list[int]] = {}
    for row, gaps in enumerate(missing):
        if gaps.any():
            alike.setdefault(gaps.tobytes(), []).append(row)
    for rows in alike.values():
        for some in _pieces(np.array(rows), size):
            for columns in _pieces(np.flatnonzero(missing[rows[0]]), size):
                yield some, columns


def _pieces(numbers: Rows, size: int) -> Iterator[Rows]:
    for begin in range(0, len(numbers), size):
        yield numbers[begin : begin + size]
