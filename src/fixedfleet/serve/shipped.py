"""The examples that come with the service."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from fixedfleet import files

__all__ = ["Example", "examples"]

_TITLES = {
    "leipzig_parcels": "Parcels in Leipzig: 63 shops, seven vans of 850 kg",
    "bakery_round": "Bakery round: three vans, and four orders that cannot share one",
}


@dataclass(frozen=True)
class Example:
    """
    A shipped instance.

    Attributes
    ----------
    name, title
        Its short and its long name.
    text
        The CSV file.
    customers, vehicles, capacity
        What the file says.
    """

    name: str
    title: str
    text: str
    customers: int
    vehicles: int
    capacity: float


@cache
def examples() -> dict[str, Example]:
    """All examples by name."""
    return {name: _load(name, title) for name, title in _TITLES.items()}


def _load(name: str, title: str) -> Example:
    folder = resources.files("fixedfleet.serve") / "examples"
    text = (folder / f"{name}.csv").read_text(encoding="utf-8")
    instance = files.parse(text, format="csv")
    return Example(
        name,
        title,
        text,
        instance.num_customers,
        instance.vehicles,
        instance.capacity,
    )
