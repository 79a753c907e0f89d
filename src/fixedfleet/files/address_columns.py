"""Addresses in the columns of a table, and their latitudes and longitudes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fixedfleet.files.table import Column

if TYPE_CHECKING:
    from fixedfleet.files.table import Table

__all__ = [
    "ADDRESS_HEADINGS",
    "ADDRESS_SETS",
    "Geocode",
    "Place",
    "add_coordinates",
    "addresses_of",
    "has_addresses",
    "place_rows",
]

# The headings by which each column is recognised, in lower case and without a unit.
ADDRESS_HEADINGS = {
    "address": ("address", "adresse", "anschrift", "lieferadresse", "lieferanschrift",
                "delivery address"),
    "street": ("street", "straße", "strasse", "str", "street address",
               "straße und hausnummer", "straße hausnummer", "strasse hausnummer",
               "straße, hausnummer", "straße, nr", "straße/nr", "straße nr"),
    "house": ("house number", "house no", "hausnummer", "hausnr", "haus-nr", "hnr"),
    "postcode": ("postcode", "postal code", "zip", "zip code", "zipcode", "plz",
                 "postleitzahl"),
    "town": ("town", "city", "ort", "stadt", "wohnort", "ortschaft", "gemeinde",
             "plz/ort", "plz ort", "plz, ort", "plz und ort"),
    "country": ("country", "land"),
}  # fmt: skip
# A table has addresses if it has all columns of one of these sets.
ADDRESS_SETS = ({"address"}, {"street", "town"}, {"street", "postcode"})


class Place(NamedTuple):
    """
    The latitude and longitude of an address; both are None if no place is known.

    ``remark`` says why no place is known, or what is doubtful about the place. It is
    empty if there is no doubt.
    """

    latitude: float | None
    longitude: float | None
    remark: str = ""


# A function that returns the place of each address, such as
# :func:`fixedfleet.addresses.geocoder` makes.
Geocode = Callable[[Sequence[str]], Sequence[Place]]


def has_addresses(table: Table) -> bool:
    """Return whether the columns of a table hold addresses."""
    return any(columns <= table.places.keys() for columns in ADDRESS_SETS)


def add_coordinates(table: Table) -> None:
    """Add empty columns lat and lon to a table that lacks them."""
    for name in ("lat", "lon"):
        if name not in table.places:
            table.places[name] = len(table.columns)
            texts = [""] * len(table.rows)
            table.columns.append(Column(name, texts, texts))


def place_rows(table: Table, geocode: Geocode) -> dict[int, tuple[str, str]]:
    """
    Look up the addresses of rows without coordinates, and fill in lat and lon.

    Return {index of the row: (address, remark)} for each row whose place was not found
    or is doubtful. The remark says why.
    """
    lat, lon = table.column("lat").cells, table.column("lon").cells
    addresses = addresses_of(table)
    rows = [
        row
        for row, address in enumerate(addresses)
        if address and not lat[row].strip() and not lon[row].strip()
    ]
    remarks = {}
    places = geocode([addresses[row] for row in rows])
    for row, place in zip(rows, places, strict=True):
        if place.latitude is not None and place.longitude is not None:
            lat[row], lon[row] = repr(place.latitude), repr(place.longitude)
        if place.remark:
            remarks[row] = addresses[row], place.remark
    if rows:
        table.notes.append(f"places found by address: {len(rows)} rows")
    return remarks


def addresses_of(table: Table) -> list[str]:
    """
    Return the address of each row on one line.

    It is empty if the row has neither an address nor a street.
    """
    columns = {name: table.column(name).shown for name in ADDRESS_HEADINGS}
    written = []
    for cells in zip(*columns.values(), strict=True):
        texts = (" ".join(cell.split()) for cell in cells)
        address, street, house, postcode, town, country = texts
        lines = [
            address,
            f"{street} {house}".strip(),
            f"{postcode} {town}".strip(),
            country,
        ]
        known = address or street
        written.append(", ".join(filter(None, lines)) if known else "")
    return written
