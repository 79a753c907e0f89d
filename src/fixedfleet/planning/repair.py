"""Repairs: put back the customers that a decoder left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from fixedfleet.errors import InputError, check_settings
from fixedfleet.planning.exchange import exchange
from fixedfleet.planning.membership_scores import membership_scores
from fixedfleet.planning.tours import ChangingTours, Decoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.planning.prediction import Prediction

    _Choice = Callable[[ChangingTours, Tensor, Tensor], tuple[Tensor, Tensor]]

__all__ = ["RepairMethod", "RepairOptions", "repair_plans"]

RepairMethod = Literal["none", "paper", "paper-demand", "room"]

_EXCHANGES = 200  # the largest number per instance, for ``room``


@dataclass(frozen=True)
class RepairOptions:
    """
    How customers that a decoder left out are put back.

    Parameters
    ----------
    method
        ``none``: not at all. ``paper``: the paper's Algorithm 1; the customers, by
        their numbers, go to the vehicle with the most room, each after its likeliest
        predecessor there. ``paper-demand``: the same, but the largest demand first, so
        that fewer are left over. ``room``: each customer, the largest demand first,
        goes to the place that adds the least length, in any tour that has room; if no
        tour has room, customers are exchanged between vehicles until one has.
    guarantee
        Whether the customers that fit nowhere get a tour beyond the fleet at the end,
        or several tours if one vehicle cannot carry them all.
    """

    method: RepairMethod = "room"
    guarantee: bool = False

    def __post_init__(self) -> None:
        check_settings(self, "repair ")
        if self.guarantee and self.method == "none":
            raise InputError(
                "the guarantee needs a repair, but the repair method is 'none'"
            )


def repair_plans(
    prediction: Prediction, decoded: Decoded, options: RepairOptions
) -> Decoded:
    """
    Put back the customers that decoded plans leave out.

    The tours keep their customers and their order, except that ``room`` may move
    customers.

    Raises
    ------
    InputError
        If the plans have the wrong shape or exceed the capacity.
    """
    _check(prediction, decoded)
    if options.method == "none" or not decoded.unserved.any():
        return decoded
    queue = _queue(prediction, decoded.unserved, options)
    extra = _most_extra(prediction, decoded.unserved) if options.guarantee else 0
    tours = ChangingTours(prediction, decoded, extra)
    choose = _cheapest if options.method == "room" else _roomiest
    _insert_all(tours, queue, choose, opening=False)
    if options.method == "room":
        _make_room(tours, options)
    if options.guarantee:
        queue = _queue(prediction, tours.decoded().unserved, options)
        _insert_all(tours, queue, choose, opening=True)
    return tours.decoded()


def _check(prediction: Prediction, decoded: Decoded) -> None:
    batch, tours, longest = decoded.routes.shape
    count, fleet, stops = len(prediction), prediction.fleet, prediction.locations - 1
    if (batch, longest) != (count, stops) or tours < fleet:
        raise InputError(
            f"routes has shape {(batch, tours, longest)}, not ({count}, {fleet} or "
            f"more, {stops})"
        )
    if (decoded.loads(prediction.demands) > prediction.capacity[:, None]).any():
        raise InputError("a decoded tour exceeds the capacity")


def _queue(prediction: Prediction, waiting: Tensor, options: RepairOptions) -> Tensor:
    """Return customers in order of insertion, (B, most waiting), zeros to the end."""
    longest = int(waiting.sum(1).max())
    by_number = options.method == "paper"
    key = torch.zeros_like(prediction.demands) if by_number else -prediction.demands
    order = key.masked_fill(~waiting, 1).sort(dim=1, stable=True).indices[:, :longest]
    return order * waiting.gather(1, order)


def _most_extra(prediction: Prediction, waiting: Tensor) -> int:
    """
    Return an upper bound on the number of tours that the guarantee adds.

    A tour is added only for a customer that fits into no other tour. So any two added
    tours together carry more than one capacity: E ≤ 2 Σq/Q + 1.
    """
    fits = waiting & (prediction.demands <= prediction.capacity[:, None])
    total = (prediction.demands * fits).sum(1)
    bound = torch.minimum(2 * total // prediction.capacity + 1, fits.sum(1))
    return int(bound.max())


def _insert_all(
    tours: ChangingTours, queue: Tensor, choose: _Choice, *, opening: bool
) -> None:
    """Insert customers one after another, where ``choose`` says, if they fit."""
    prediction = tours.prediction
    for customer in queue.unbind(1):
        demand = prediction.demands[tours.rows, customer]
        waits = customer > 0
        if opening:
            full = tours.left.amax(1) < demand
            tours.open(waits & full & (demand <= prediction.capacity))
        vehicle, place = choose(tours, customer, demand)
        fits = tours.left[tours.rows, vehicle] >= demand
        tours.insert(customer, vehicle, place, waits & fits)


def _roomiest(
    tours: ChangingTours, customer: Tensor, demand: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the tour with the most room, and the place after the predecessor."""
    vehicle = tours.left.argmax(1)
    return vehicle, tours.predicted_place(customer, vehicle)


def _cheapest(
    tours: ChangingTours, customer: Tensor, demand: Tensor
) -> tuple[Tensor, Tensor]:
    """Return tour and place of the least detour among the tours with room."""
    detours = tours.detours(customer)  # (B, K, N + 1)
    full = tours.left < demand[:, None]
    best = detours.masked_fill(full[..., None], torch.inf).flatten(1).argmin(1)
    return best // detours.shape[2], best % detours.shape[2]


def _make_room(tours: ChangingTours, options: RepairOptions) -> None:
    """Exchange customers until those left out have room, then insert them."""
    prediction, fleet = tours.prediction, tours.prediction.fleet
    stuck = tours.decoded().unserved.any(1).nonzero()[:, 0]
    if len(stuck) == 0:
        return
    before = _vehicle_of(tours)
    after = before.clone()
    # Customers in tours beyond the fleet stay there.
    beyond = torch.zeros_like(prediction.customers)
    beyond.scatter_(1, tours.routes[:, fleet:].flatten(1), True)
    few = replace(prediction, customers=prediction.customers & ~beyond)[stuck]
    value = membership_scores(few)
    after[stuck] = exchange(few, before[stuck], value, steps=_EXCHANGES)
    moved = before != after
    tours.remove(moved & (before < fleet))
    queue = _queue(prediction, moved & (after < fleet), options)
    for customer in queue.unbind(1):
        vehicle = after.gather(1, customer[:, None])[:, 0].clamp(max=fleet - 1)
        place = tours.detours(customer)[tours.rows, vehicle].argmin(1)
        tours.insert(customer, vehicle, place, customer > 0)


def _vehicle_of(tours: ChangingTours) -> Tensor:
    """Return the vehicle of each customer, (B, N'); M for a customer without one."""
    fleet = tours.prediction.fleet
    routes = tours.routes[:, :fleet]
    number = torch.arange(fleet, device=routes.device)[None, :, None]
    vehicle = torch.full_like(tours.prediction.demands, fleet)
    vehicle.scatter_(1, routes.flatten(1), number.expand_as(routes).flatten(1))
    return vehicle.masked_fill(~tours.prediction.customers, fleet)
