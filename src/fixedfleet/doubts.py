"""Doubtful data: customers whose place or demand is probably a mistake."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from fixedfleet.distances import measure
from fixedfleet.wording import format_length

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

    Label = Callable[[Sequence[int]], str]  # names locations in a warning

__all__ = ["Doubt", "find_doubts"]

# A place is judged by its distance from the middle of all places, as a multiple of the
# median of these distances.
_SWAPPED = 5  # beyond this, if it would be nearer with latitude and longitude swapped
_FAR = 20  # a customer that is alone there
_FAR_DEPOT = 50  # a depot outside the town is nothing unusual
_ALONE = 3  # a place with at most so many others near it counts as alone
_LEAST = 5  # with fewer places, the middle says nothing
_LEAST_FAR = 20  # among fewer places, one that is far away is nothing unusual

# Seas and deserts that populated regions fall into if latitude and longitude are
# swapped: (latitude from, to, longitude from, to), and the region.
_EMPTY = (
    (-10, 23, 46, 68, "Europe"),
    (72, 90, -180, 180, "Asia"),
    (-90, -57, -180, 180, "America"),
    (-57, -35, -50, 10, "America"),
    (17.5, 33, -35, -22, "Africa"),
)
_DEPOT = re.compile(r"\b(depot|lager|warehouse|hub)", re.IGNORECASE)
_NAMED = 5  # rows that a message names


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """
    Something in an instance that is probably a mistake.

    Attributes
    ----------
    kind
        ``swapped`` (latitude and longitude), ``zero`` (the place is 0, 0), ``far``
        (from all other places), ``depot`` (a second one), ``duplicate`` (of name,
        place and demand) or ``demand`` (it is 0).
    customers
        The customers to leave out if the doubt is right; empty if that would not help.
    text
        The warning, in one sentence that names the rows.
    """

    kind: Literal["swapped", "zero", "far", "depot", "duplicate", "demand"] = field(
        metadata={"description": "what is doubtful"}
    )
    customers: list[int] = field(
        metadata={"description": "the customers to leave out, if that would help"}
    )
    text: str = field(metadata={"description": "the warning, naming the rows"})


def find_doubts(instance: Instance, rows: Sequence[int] | None = None) -> list[Doubt]:
    """
    Return what is probably a mistake in an instance; an empty list for most instances.

    Parameters
    ----------
    instance
        The instance.
    rows
        The row of each location in its file, depot first, for the warnings. Without
        it, the warnings name customers by their numbers.
    """
    label = partial(_name_all, instance, rows)
    found = []
    if instance.has_coordinates and instance.metric != "explicit":
        found += _doubt_places(instance, label)
    depots = _second_depots(instance)
    if depots:
        verb = "looks like a second depot" if len(depots) == 1 else "look like depots"
        said = f"there is one depot, {instance.depot_name}, and others are customers"
        found.append(_doubt("depot", depots, f"{label(depots)} {verb}: {said}"))
    found += _duplicates(instance, label)
    if idle := [customer for customer in _idle(instance) if customer not in depots]:
        found.append(_doubt("demand", idle, f"{label(idle)}: the demand is 0"))
    return found


def _doubt(kind: str, locations: Iterable[int], text: str) -> Doubt:
    """Return a doubt about locations, of which the depot cannot be left out."""
    customers = [int(location) for location in locations if location]
    return Doubt(kind=kind, customers=customers, text=text)  # type: ignore[arg-type]


def _name_all(
    instance: Instance, rows: Sequence[int] | None, locations: Sequence[int]
) -> str:
    """Name locations in a warning: by row, or by number, and by name."""
    named = [_name_one(instance, rows, place) for place in locations[:_NAMED]]
    if more := len(locations) - len(named):
        return f"{', '.join(named)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def _name_one(instance: Instance, rows: Sequence[int] | None, location: int) -> str:
    place = f"customer {location}" if location else "depot"
    if rows is not None:
        place = f"row {rows[location]}"
    name = instance.name_of(location)
    return place if name in (str(location), "depot") else f"{place} ({name})"


def _doubt_places(instance: Instance, label: Label) -> list[Doubt]:
    """Return doubts about places, by their distance from the middle of all places."""
    points = instance.coordinates
    centre = np.median(points, axis=0)
    if instance.geographic and (region := _mirrored_region(*centre)):
        said = (
            "latitude and longitude look swapped in all rows: as written, most places "
            f"lie in a sea or desert; swapped, they lie in {region}"
        )
        return [_doubt("swapped", (), said)]
    away = _away(instance, points, centre)
    middle = float(np.median(away))
    known = len(points) >= _LEAST and middle > 0
    many = known and len(points) >= _LEAST_FAR
    swapped = zero = np.zeros(len(points), dtype=bool)
    if instance.geographic:
        zero = (points == 0).all(axis=1)
        mirrored = _away(instance, points[:, ::-1], centre)
        near = _SWAPPED * middle
        swapped = known & (away > near) & (mirrored <= near) & ~zero
    limits = np.where(np.arange(len(points)) == 0, _FAR_DEPOT, _FAR) * middle
    beyond = _indices(many & (away > limits) & ~swapped & ~zero)
    found = []
    if places := _indices(swapped):
        said = f"{label(places)}: latitude and longitude look swapped"
        found.append(_doubt("swapped", places, said))
    if places := _indices(zero):
        said = f"{label(places)}: the place is 0, 0, in the sea off Africa"
        found.append(_doubt("zero", places, said))
    for place in beyond:
        if _alone(instance, place, away[place]):
            said = (
                f"{label([place])} is far from all others: "
                f"{format_length(away[place], 3, instance)} from the middle of all "
                f"places; half of them are within {format_length(middle, 3, instance)}"
            )
            found.append(_doubt("far", [place], said))
    return found


def _indices(mask: NDArray[np.bool_]) -> list[int]:
    return [int(index) for index in np.flatnonzero(mask)]


def _away(
    instance: Instance, points: NDArray[np.float64], place: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance of each point from a place."""
    return measure(points, place, instance.metric, "none", instance.length_unit)


def _mirrored_region(lat: float, lon: float) -> str:
    """Return the region of a place whose coordinates are swapped, or ""."""
    for south, north, west, east, region in _EMPTY:
        if south <= lat <= north and west <= lon <= east:
            return region
    return ""


def _alone(instance: Instance, place: int, away: float) -> bool:
    """Return whether few other places are around a place far from the middle."""
    points = instance.coordinates
    around = _away(instance, points, points[place]) < away / 2
    return len(np.unique(points[around], axis=0)) <= _ALONE


def _idle(instance: Instance) -> list[int]:
    """Return the customers without demand."""
    return [index + 1 for index in _indices(instance.demands == 0)]


def _second_depots(instance: Instance) -> list[int]:
    """Return customers without demand that have a depot's name or the depot's place."""
    at_depot = np.zeros(instance.num_customers, dtype=bool)
    if instance.has_coordinates:
        at_depot = (instance.coordinates[1:] == instance.coordinates[0]).all(axis=1)
    found = []
    for customer in _idle(instance):
        name = instance.name_of(customer)
        same = name.casefold() == instance.depot_name.casefold()
        if same or at_depot[customer - 1] or _DEPOT.search(name):
            found.append(customer)
    return found


def _duplicates(instance: Instance, label: Label) -> list[Doubt]:
    """
    Return doubts about customers with the name, place and demand of an earlier one.

    Equal names and places with different demands are parts of a split order.
    """
    if instance.names is None or not instance.has_coordinates:
        return []
    first: dict[tuple[object, ...], int] = {}
    found = []
    places, demands = instance.coordinates[1:].tolist(), instance.demands.tolist()
    rows = zip(instance.names, places, demands, strict=True)
    for customer, (name, place, demand) in enumerate(rows, 1):
        row = (name.strip().casefold(), *place, demand)
        earlier = first.setdefault(row, customer)
        if earlier != customer:
            said = f"{label([customer])} has the same name, place and demand as "
            found.append(_doubt("duplicate", [customer], said + label([earlier])))
    return found
