"""
Match the stops in the file of a plan to the customers of an instance.

The numbers of customers change whenever a row is inserted above them. So a stop is
matched by other texts in the file: the firm's own customer number, the name, or the
place.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.errors import InputError
from fixedfleet.files.text import is_number, shorten
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fixedfleet.instance import Instance

__all__ = ["Stop", "axes_of", "plan_of", "vehicle_names", "with_vehicles"]

# Headings of a column with the firm's own customer numbers, reduced to lower-case
# letters and digits.
_OWN_NUMBERS = {
    "kdnr", "kdnummer", "kundennr", "kundennummer", "kundenid", "debitor", "debitornr",
    "debitorennr", "debitorennummer", "customerno", "customernr", "customernumber",
    "customerid", "custno", "custid", "accountno", "accountnumber",
}  # fmt: skip

# Coordinates that differ by at most this much count as equal: a file may round them.
_NEAR = 1e-9


class Stop(NamedTuple):
    """
    A stop in the file of a plan.

    ``where`` is its place in the file, for error messages. ``number`` is the number of
    its customer. ``texts`` are its other cells, by heading: name, demand, coordinates
    and further columns.
    """

    where: str  # the place in the file, for error messages
    number: int  # of the customer, as the file states it
    texts: Mapping[str, str]  # name, demand, coordinates and further columns


def axes_of(instance: Instance) -> tuple[str, str]:
    """Return the column names of an instance's coordinates, such as x and y."""
    return ("lat", "lon") if instance.geographic else ("x", "y")


def plan_of(tours: Iterable[Iterable[Stop]], instance: Instance | None) -> Plan:
    """
    Match each stop to a customer of the instance, and return the plan.

    If there is no instance, or if the file states nothing but the number of a stop, the
    customer is the one with this number.

    Raises
    ------
    InputError
        If a stop is not a customer of the instance, if its name and its customer number
        belong to different customers, or if several customers may be meant.
    """
    if instance is None:
        return Plan([stop.number for stop in tour] for tour in tours)
    customers = _Customers(instance)
    return Plan([customers.find(stop) for stop in tour] for tour in tours)


class _Customers:
    """
    Finds customers of an instance by name, by the firm's customer number and by place.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._found: set[int] = set()
        self._by_name: dict[str, list[int]] = defaultdict(list)
        for customer, name in enumerate(instance.names or (), 1):
            self._by_name[_plain(name)].append(customer)
        self._own = {
            _plain(heading): texts
            for heading, texts in instance.columns.items()
            if re.sub(r"[\W_]+", "", heading).casefold() in _OWN_NUMBERS
        }

    def find(self, stop: Stop) -> int:
        """Return the number of the customer that belongs to a stop."""
        found = self._named(stop)
        if found is None:
            found = self._at_place(stop, range(1, self._instance.num_customers + 1))
            if found is None:  # nothing but the number is known
                return stop.number
            if not found:
                raise InputError(
                    f"{stop.where}: no customer is at the place of customer "
                    f"{stop.number} of the plan: is this a plan for other customers?"
                )
        customer = self._one_of(found, stop)
        self._found.add(customer)
        return customer

    def _named(self, stop: Stop) -> list[int] | None:
        """
        Return the customers with the name and the firm's customer number of a stop.

        Return None if the file states neither.
        """
        name = stop.texts.get("name", "").strip()
        known = None
        # Files state the number as the name of a customer without a name. Such a name
        # does not identify a customer.
        if name and self._by_name and name != str(stop.number):
            known = self._by_name.get(_plain(name), [])
        for heading, text in stop.texts.items():
            texts, own = self._own.get(_plain(heading)), text.strip()
            if texts is None or not own:
                continue
            same = [c for c, other in enumerate(texts) if c and other.strip() == own]
            if known is not None and (known or same) and not {*known} & {*same}:
                here = f"it is {self._instance.name_of(same[0])}" if same else "nobody"
                raise InputError(
                    f"{stop.where}: {heading} {own} is {shorten(name)}, but among the "
                    f"customers {here} has this number: correct one of the files"
                )
            known = same if known is None else [c for c in known if c in same]
        if known == []:
            raise InputError(
                f"{stop.where}: {shorten(name or stop.number)} is not among the "
                "customers: remove this stop from the plan, or correct its name"
            )
        return known

    def _at_place(self, stop: Stop, among: Iterable[int]) -> list[int] | None:
        """
        Return the customers at the place of a stop; None if the file states no place.

        Only the customers in ``among`` are considered.
        """
        instance = self._instance
        words = [
            stop.texts.get(axis, "").replace(",", ".") for axis in axes_of(instance)
        ]
        if not instance.has_coordinates or not all(map(is_number, words)):
            return None
        place = [float(word) for word in words]
        away = np.abs(instance.coordinates - place).max(axis=1)
        return [customer for customer in among if away[customer] <= _NEAR]

    def _one_of(self, found: Sequence[int], stop: Stop) -> int:
        """
        Return the customer among ``found`` that agrees best with a stop.

        Raise InputError if these customers are at different places and the file does
        not say which place is meant.
        """
        left = self._at_place(stop, found) or list(found)
        if len({tuple(self._place(customer)) for customer in left}) > 1:
            raise InputError(
                f"{stop.where}: {len(left)} customers are named "
                f"{shorten(stop.texts.get('name', ''))}, and the plan does not say "
                "which of them is meant: give them different names"
            )
        # The customers that are left share name and place, so any of them will do.
        # Prefer one that no other stop has taken, then one with the same demand and
        # further columns, then the one with the same number.
        for agrees in (
            lambda customer: customer not in self._found,
            lambda customer: self._says_the_same(customer, stop),
            lambda customer: customer == stop.number,
        ):
            left = list(filter(agrees, left)) or left
        return left[0]

    def _place(self, customer: int) -> list[float]:
        instance = self._instance
        if not instance.has_coordinates:
            return [float(customer)]
        point: list[float] = instance.coordinates[customer].tolist()
        return point

    def _says_the_same(self, customer: int, stop: Stop) -> bool:
        instance = self._instance
        demand = stop.texts.get("demand", "").replace(",", ".")
        if is_number(demand) and float(demand) != instance.demands[customer - 1]:
            return False
        return all(
            stop.texts.get(heading, texts[customer]) == texts[customer]
            for heading, texts in instance.columns.items()
        )


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def vehicle_names(plan: Plan, instance: Instance) -> list[str]:
    """
    Return the name of the vehicle type of each tour.

    If a type has no name, or if two types have the same name, the number of the type in
    the fleet, from 1, is added.
    """
    names = [one.name for one in instance.fleet]
    shown = [
        name if name and names.count(name) == 1 else f"{name} {place}".strip()
        for place, name in enumerate(names, 1)
    ]
    return [shown[index] for index in plan.type_indices(instance)]


def with_vehicles(
    plan: Plan, vehicles: Sequence[str], instance: Instance | None
) -> Plan:
    """
    Return a plan with the vehicle types that its file names.

    ``vehicles`` has a name per tour, as :func:`vehicle_names` returns it. Without an
    instance, or if all names are empty, the plan is returned unchanged.
    """
    if instance is None or instance.vehicle_types is None or not any(vehicles):
        return plan
    every = Plan([[1]] * len(instance.fleet), range(len(instance.fleet)))
    known = vehicle_names(every, instance)
    for name in vehicles:
        if name not in known:
            raise InputError(
                f"vehicle {shorten(name)} is not one of the fleet: "
                f"{', '.join(map(shorten, known))}"
            )
    return Plan(plan.tours, [known.index(name) for name in vehicles])
