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
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fixedfleet.instance import Instance

    # The kind, the locations, and what the warning says after their names.
    _Found = tuple["Kind", list[int], str]

__all__ = ["DEPOT_NAME", "Doubt", "find_doubts"]

Kind = Literal[
    "swapped", "zero", "far", "depot", "duplicate", "demand", "cancelled", "windows",
    "fleet", "unreadable", "guess",
]  # fmt: skip

# A place is doubtful if it is far from the middle of all places. These distances are
# multiples of the median distance from the middle.
_SWAPPED = 5  # beyond this, but within it with latitude and longitude swapped
_FAR = 20  # beyond this, a customer is doubtful if no others are near it
_FAR_DEPOT = 50  # for the depot, which is often outside the town
_ALONE = 3  # a place is alone if at most this many, itself included, are near it
_LEAST = 5  # with fewer places, the median distance means nothing
_LEAST_FAR = 20  # with fewer places, one that is far away is nothing unusual

# Seas and deserts that Europe, Asia, America and Africa fall into if latitude and
# longitude are swapped: latitude from, to, longitude from, to.
_EMPTY = (
    (-10, 23, 46, 68),
    (72, 90, -180, 180),
    (-90, -57, -180, 180),
    (-57, -35, -50, 10),
    (17.5, 33, -35, -22),
)
DEPOT_NAME = re.compile(r"\b(depot|lager|warehouse|hub|zentrale)", re.IGNORECASE)
_NAMED = 5  # most rows that a message names
# Headings of delivery times, and cells such as "08:00-12:00" or "8 bis 12 Uhr".
_WINDOW_HEADING = re.compile(
    r"(liefer|zeit|anliefer)\w*(fenster|zeit)|time.?window|delivery (time|window)"
    r"|öffnungszeit|opening hours",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"\d{1,2}([:.]\d\d)?( ?(uhr|h|am|pm))? ?(-|–|bis|to) ?"
    r"\d{1,2}([:.]\d\d| ?(uhr|h|am|pm))",
    re.IGNORECASE,
)
_CANCELLED = re.compile(
    r"\b(storn\w*|abgesagt|abbestellt|entfällt|cancell?ed)\b", re.IGNORECASE
)
_QUOTED = 40  # a message shows at most this many characters of a remark
_LONGEST = 80  # characters of a heading or cell that are searched
# Whatever its heading, a column looks like delivery times if more than this share of
# its filled cells does.
_WINDOW_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """
    Something in an instance that is probably a mistake.

    Attributes
    ----------
    kind
        ``swapped`` (latitude and longitude look swapped), ``zero`` (the place is 0, 0),
        ``far`` (the place is far from all others), ``depot`` (a customer looks like a
        second depot), ``duplicate`` (name, place and demand are those of another
        customer), ``demand`` (the demand is 0), ``cancelled`` (a remark says that the
        delivery is cancelled) or ``windows`` (a column looks like delivery times, which
        are not considered). For a table also ``fleet`` (its sheet of vehicles is not
        used). For a row of a table also ``unreadable`` (the row is left out) and
        ``guess`` (its demand is written as
        "ca. 40", or the place of its address is doubtful).
    customers
        The customers to leave out if the doubt is right; empty if that would not help.
    text
        The warning, in one sentence that names the rows.
    row
        The row of the table, if the doubt is about how this row was read.
    columns
        The columns of that row that cannot be read, or are doubtful.
    address
        The address of that row, if its place is unknown or doubtful.
    """

    kind: Kind = field(metadata={"description": "what is doubtful"})
    customers: list[int] = field(
        metadata={"description": "the customers to leave out, if that would help"}
    )
    text: str = field(metadata={"description": "the warning, naming the rows"})
    row: int | None = field(
        default=None, metadata={"description": "the row of a table that it is about"}
    )
    columns: list[str] = field(
        default_factory=list,
        metadata={"description": "columns of this row that cannot be read"},
    )
    address: str = field(
        default="",
        metadata={"description": "address of this row, if its place is in doubt"},
    )


def find_doubts(instance: Instance, rows: Sequence[int] | None = None) -> list[Doubt]:
    """
    Return the data of an instance that are probably mistakes. Most instances have none.

    Parameters
    ----------
    instance
        The instance.
    rows
        The row of each location in its file, depot first, for the warnings. Without
        it, the warnings name customers by their numbers.
    """
    label = partial(_name_all, instance, rows)
    found: list[_Found] = []
    if instance.has_coordinates and instance.metric != "explicit":
        found += _doubt_places(instance)
    depots, idle = _without_demand(instance)
    if depots:
        verb = "looks like a second depot" if len(depots) == 1 else "look like depots"
        said = f"there is one depot, {instance.depot_name}, and others are customers"
        found.append(("depot", depots, f" {verb}: {said}"))
    for customer, earlier in _duplicates(instance):
        said = f" has the same name, place and demand as {label([earlier])}"
        found.append(("duplicate", [customer], said))
    if idle:
        found.append(("demand", idle, ": the demand is 0"))
    for customer, remark in _cancelled(instance):
        said = f" looks cancelled: {remark[:_QUOTED]!r}"
        found.append(("cancelled", [customer], said))
    found += [("windows", [], said) for said in _ignored_windows(instance)]
    return [
        Doubt(kind=kind, customers=[i for i in places if i], text=label(places) + said)
        for kind, places, said in found
    ]


def _cancelled(instance: Instance) -> Iterator[tuple[int, str]]:
    """Yield customers with a text that says that the order is cancelled, and it."""
    for customer in range(1, instance.num_customers + 1):
        texts = (column[customer].strip() for column in instance.columns.values())
        said = next((t for t in texts if _CANCELLED.search(t[:_LONGEST])), None)
        if said is not None:
            yield customer, said


def _ignored_windows(instance: Instance) -> Iterator[str]:
    """Yield a warning for each further column that looks like delivery times."""
    for heading, texts in instance.columns.items():
        filled = [text.strip() for text in texts[1:] if text.strip()]
        times = sum(_WINDOW.search(text[:_LONGEST]) is not None for text in filled)
        named = _WINDOW_HEADING.search(heading[:_LONGEST]) is not None
        if filled and (named or times > _WINDOW_SHARE * len(filled)):
            yield (
                f"column {heading!r} looks like delivery times, which plans do not "
                "consider"
            )


def _name_all(
    instance: Instance, rows: Sequence[int] | None, locations: Sequence[int]
) -> str:
    """
    Return a text that lists locations: the row or number of each, and its name.

    ``rows`` is that of :func:`find_doubts`.
    """
    named = []
    for location in locations[:_NAMED]:
        place = f"customer {location}" if location else "depot"
        if rows is not None:
            place = f"row {rows[location]}"
        name = instance.name_of(location)
        known = name in (str(location), "depot")
        named.append(place if known else f"{place} ({name})")
    if more := len(locations) - len(named):
        return f"{', '.join(named)} and {more:,} more"
    return " and ".join(filter(None, (", ".join(named[:-1]), *named[-1:])))


def _doubt_places(instance: Instance) -> Iterator[_Found]:
    """Yield doubts about places that are far from the middle of all places."""
    points = instance.coordinates
    centre = lat, lon = np.median(points, axis=0)
    if instance.geographic and any(
        south <= lat <= north and west <= lon <= east
        for south, north, west, east in _EMPTY
    ):
        said = (
            "latitude and longitude look swapped in all rows: as written, most places "
            "lie in a sea or desert"
        )
        yield "swapped", [], said
        return
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
    if swapped.any():
        yield "swapped", _indices(swapped), ": latitude and longitude look swapped"
    if zero.any():
        yield "zero", _indices(zero), ": the place is 0, 0, in the sea off Africa"
    limits = np.where(np.arange(len(points)) == 0, _FAR_DEPOT, _FAR) * middle
    for place in _indices(many & (away > limits) & ~swapped & ~zero):
        near_it = _away(instance, points, points[place]) < away[place] / 2
        if len(np.unique(points[near_it], axis=0)) <= _ALONE:
            said = (
                " is far from all others: "
                f"{format_length(away[place], 3, instance)} from the middle of all "
                f"places; half of them are within {format_length(middle, 3, instance)}"
            )
            yield "far", [place], said


def _indices(mask: NDArray[np.bool_]) -> list[int]:
    return [int(index) for index in np.flatnonzero(mask)]


def _away(
    instance: Instance, points: NDArray[np.float64], place: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance of each point from a place, in the instance's unit."""
    return measure(points, place, instance.metric, "none", instance.length_unit)


def _without_demand(instance: Instance) -> tuple[list[int], list[int]]:
    """
    Return two lists of the customers with demand 0.

    The first has those that look like depots, the second all others. A customer looks
    like a depot if it is at the depot's place, if it has the depot's name, or if its
    name contains a word for a depot.
    """
    at_depot = np.zeros(instance.num_customers + 1, dtype=bool)
    if instance.has_coordinates:
        at_depot = (instance.coordinates == instance.coordinates[0]).all(axis=1)
    depots: list[int] = []
    others: list[int] = []
    for index in _indices(instance.demands == 0):
        name = instance.name_of(index + 1)
        same = name.casefold() == instance.depot_name.casefold()
        is_depot = same or at_depot[index + 1] or DEPOT_NAME.search(name)
        (depots if is_depot else others).append(index + 1)
    return depots, others


def _duplicates(instance: Instance) -> Iterator[tuple[int, int]]:
    """
    Yield (customer, earlier customer) if both have the same name, place and demand.

    Customers with the same name and place but different demands are not yielded: they
    are probably parts of one order.
    """
    if instance.names is None or not instance.has_coordinates:
        return
    first: dict[tuple[object, ...], int] = {}
    places, demands = instance.coordinates[1:].tolist(), instance.demands.tolist()
    rows = zip(instance.names, places, demands, strict=True)
    for customer, (name, place, demand) in enumerate(rows, 1):
        row = (name.strip().casefold(), *place, demand)
        earlier = first.setdefault(row, customer)
        if earlier != customer:
            yield customer, earlier
