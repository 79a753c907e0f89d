"""Put back the customers that decoding left out (the paper's Algorithm 1 and more)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.planning.exchange import exchange
from fixedfleet.planning.membership import evidence
from fixedfleet.planning.problem import Problem, prepare
from fixedfleet.planning.tours import Tours

if TYPE_CHECKING:
    from fixedfleet.planning.decoded import Decoded

__all__ = ["Order", "Repair", "RepairOptions", "mend", "repair"]

Repair = Literal["paper", "insertion", "room"]
Order = Literal["demand", "given"]


@dataclass(frozen=True)
class RepairOptions:
    """
    How customers left out are put back.

    Parameters
    ----------
    method
        ``paper``: Algorithm 1, each into the vehicle with most room, after its
        likeliest predecessor there. ``insertion``: each where it adds least length, in
        any tour that has room. ``room``: as ``insertion``, or as ``paper`` where no
        distances are known; and where no vehicle has room, customers change vehicles
        until one has.
    guarantee
        Whether tours beyond the fleet are opened for those who fit nowhere.
    order
        ``demand``: the largest first, which strands fewer. ``given``: by number.
    exchanges
        The most exchanges of ``room`` an instance.
    """

    method: Repair = "paper"
    guarantee: bool = False
    order: Order = "demand"
    exchanges: int = 200

    def __post_init__(self) -> None:
        for name, kind in (("method", Repair), ("order", Order)):
            if getattr(self, name) not in get_args(kind):
                raise InputError(
                    f"repair {name} {getattr(self, name)!r} is unknown: choose one of "
                    f"{', '.join(get_args(kind))}"
                )
        if self.exchanges < 0:
            raise InputError(f"exchanges is {self.exchanges}, not 0 or more")


def repair(
    decoded: Decoded,
    log_probs: Tensor,
    demands: Tensor,
    capacity: Tensor,
    guarantee: bool = False,
    order: Order = "demand",
    *,
    method: Repair = "paper",
    customers: Tensor | None = None,
    vehicles: Tensor | None = None,
    coordinates: Tensor | None = None,
    distances: Tensor | None = None,
) -> Decoded:
    """
    Put back the customers a decoded plan leaves out.

    Tours, none of them overloaded, keep their customers and order (``room`` may move
    some). See :class:`RepairOptions` for the choices and :func:`decode` for the
    tensors.
    """
    problem = prepare(
        log_probs,
        demands,
        capacity,
        customers=customers,
        vehicles=vehicles,
        coordinates=coordinates,
        distances=distances,
    )
    rows, tours, longest = decoded.routes.shape
    if (rows, longest) != (problem.rows, problem.size - 1) or tours < problem.fleet:
        raise InputError(
            f"routes has shape {(rows, tours, longest)}, not ({problem.rows}, "
            f"{problem.fleet} or more, {problem.size - 1})"
        )
    if (decoded.loads(problem.demands) > problem.capacity[:, None]).any():
        raise InputError("a tour to repair is overloaded: decode with strict_greedy")
    return mend(problem, decoded, RepairOptions(method, guarantee, order))


def mend(problem: Problem, decoded: Decoded, options: RepairOptions) -> Decoded:
    """Repair a plan of a checked problem."""
    if options.method == "insertion":
        problem.distances  # noqa: B018  # says so if they are missing
    queue = _queue(problem, decoded.unserved, options.order)
    if queue.shape[1] == 0:
        return decoded
    extra = _most_extra(problem, decoded.unserved) if options.guarantee else 0
    tours = Tours(problem, decoded, extra)
    at_once = options.guarantee and options.method == "paper"
    _insert_all(tours, queue, options, opening=at_once)
    if options.method == "room":
        _make_room(tours, options)
    if options.guarantee and not at_once:
        left_out = tours.decoded().unserved
        queue = _queue(problem, left_out, options.order)
        _insert_all(tours, queue, options, opening=True)
    return tours.decoded()


def _queue(problem: Problem, waiting: Tensor, order: Order) -> Tensor:
    """Customers in order of insertion, (B, most waiting), zeros to the end."""
    longest = int(waiting.sum(1).max()) if len(waiting) else 0
    key = -problem.demands if order == "demand" else torch.zeros_like(problem.demands)
    key = key.masked_fill(~waiting, 1)
    order_of = key.sort(dim=1, stable=True).indices[:, :longest]
    return order_of * waiting.gather(1, order_of)


def _most_extra(problem: Problem, waiting: Tensor) -> int:
    """
    Bound the tours the guarantee can open.

    A tour is opened only for one who fits no open tour, so any two of them together
    carry more than a vehicle does: E ≤ 2 Σq/Q + 1.
    """
    fits = waiting & (problem.demands <= problem.capacity[:, None])
    total = (problem.demands * fits).sum(1)
    bound = torch.minimum(2 * total // problem.capacity + 1, fits.sum(1))
    return int(bound.max())


def _insert_all(
    tours: Tours, queue: Tensor, options: RepairOptions, *, opening: bool
) -> None:
    """Insert customers one after another where there is room."""
    problem = tours.problem
    for customer in queue.unbind(1):
        demand = problem.demands[tours.everyone, customer]
        waits = customer > 0
        if opening:
            full = tours.left.amax(1) < demand
            tours.open(waits & full & (demand <= problem.capacity))
        if _measures(problem, options):
            vehicle, place = _cheapest(tours, customer, demand)
        else:
            vehicle = tours.left.argmax(1)
            place = tours.predicted_place(customer, vehicle)
        fits = tours.left[tours.everyone, vehicle] >= demand
        tours.insert(customer, vehicle, place, waits & fits)


def _cheapest(tours: Tours, customer: Tensor, demand: Tensor) -> tuple[Tensor, Tensor]:
    """Tour and place of the least detour among tours with room."""
    detours = tours.detours(customer)  # (B, K, N + 1)
    full = tours.left < demand[:, None]
    best = detours.masked_fill(full[..., None], torch.inf).flatten(1).argmin(1)
    return best // detours.shape[2], best % detours.shape[2]


def _measures(problem: Problem, options: RepairOptions) -> bool:
    """Whether places are chosen by length, not by the prediction."""
    if options.method == "insertion":
        return True
    return options.method == "room" and problem.has_distances


def _make_room(tours: Tours, options: RepairOptions) -> None:
    """Let customers change vehicles until those left out have room, then place them."""
    problem = tours.problem
    stuck = tours.decoded().unserved.any(1).nonzero()[:, 0]
    if len(stuck) == 0:
        return
    before = _vehicle_of(tours)
    after = before.clone()
    # Whoever rides in a tour beyond the fleet already stays there.
    beyond = torch.zeros_like(problem.customers)
    beyond.scatter_(1, tours.routes[:, problem.fleet :].flatten(1), True)
    few = replace(problem, customers=problem.customers & ~beyond).take(stuck)
    after[stuck] = exchange(
        few, before[stuck], evidence(few), steps=options.exchanges, polish=False
    )
    moved = before != after
    tours.remove(moved & (before < problem.fleet))
    queue = _queue(problem, moved & (after < problem.fleet), options.order)
    measures = _measures(problem, options)
    find_place = tours.nearest_place if measures else tours.predicted_place
    for customer in queue.unbind(1):
        vehicle = after.gather(1, customer[:, None])[:, 0].clamp(max=problem.fleet - 1)
        place = find_place(customer, vehicle)
        tours.insert(customer, vehicle, place, customer > 0)


def _vehicle_of(tours: Tours) -> Tensor:
    """The vehicle of each customer, (B, N'); M for those who have none."""
    fleet = tours.problem.fleet
    routes = tours.routes[:, :fleet]
    number = torch.arange(fleet, device=routes.device)[None, :, None]
    vehicle = torch.full_like(tours.problem.demands, fleet)
    vehicle.scatter_(1, routes.flatten(1), number.expand_as(routes).flatten(1))
    return vehicle.masked_fill(~tours.problem.customers, fleet)
