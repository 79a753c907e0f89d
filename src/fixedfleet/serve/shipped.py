"""The examples that come with the service."""

from __future__ import annotations

from functools import cache
from importlib import resources

from fixedfleet import files
from fixedfleet.serve.schema import ExampleDocument

__all__ = ["examples"]

_TITLES = {
    "leipzig_parcels": "Parcels in Leipzig: 63 shops, seven vans of 850 kg",
    "bakery_round": "Bakery round: three vans, and four orders that cannot share one",
}


@cache
def examples() -> dict[str, ExampleDocument]:
    """Return all examples by name."""
    return {name: _load(name, title) for name, title in _TITLES.items()}


def _load(name: str, title: str) -> ExampleDocument:
    folder = resources.files("fixedfleet.serve") / "examples"
    text = (folder / f"{name}.csv").read_text(encoding="utf-8")
    instance = files.parse(text, format="csv").instance
    return ExampleDocument(
        name=name,
        title=title,
        text=text,
        customers=instance.num_customers,
        vehicles=instance.vehicles,
        capacity=instance.capacity,
    )
