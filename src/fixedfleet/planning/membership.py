"""Membership first: which vehicle serves whom, by Σ_j Ŷ_kij under capacity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import torch
from torch import Tensor

from fixedfleet.errors import InputError, require
from fixedfleet.planning.exchange import exchange

if TYPE_CHECKING:
    from fixedfleet.planning.problem import Problem

__all__ = ["MembershipOptions", "assign", "evidence"]

Assign = Literal["regret", "exact"]
Tour = Literal["auto", "prediction", "distance"]
Arcs = Literal["out", "both"]

# Sums of floats depend on how they are grouped, and so on padding and batch. Whole
# numbers of these fine shares do not, and equal predictions stay exactly equal.
_SHARES = 2.0**40
_LOG_SHARES = 2.0**20
_LEAST = -(2**60)


@dataclass(frozen=True)
class MembershipOptions:
    """
    How customers get their vehicles and tours their order.

    Parameters
    ----------
    assign
        ``regret``: the customer that loses most if its best vehicle fills up goes
        first. ``exact``: the likeliest assignment there is, by integer programming,
        instance by instance on a CPU core.
    exchanges
        The most exchanges between vehicles an instance, after ``regret``: to find room
        for those left out, then for a likelier assignment.
    tour
        ``prediction``: follow Ŷ within each vehicle. ``distance``: farthest insertion
        and 2-opt. ``auto``: by distance where distances are known.
    arcs
        Arcs that speak for a membership: ``out``, Σ_j Ŷ_kij, or ``both``, Σ_j Ŷ_kij +
        Ŷ_kji, for a prediction whose rows are normalised one by one.
    time_limit
        Seconds an instance for ``exact``. The assignment of
        ``regret`` stands where no assignment that serves everyone is found in time.
    """

    assign: Assign = "regret"
    exchanges: int = 100
    tour: Tour = "auto"
    arcs: Arcs = "out"
    time_limit: float = 1.0

    def __post_init__(self) -> None:
        for name, kind in (("assign", Assign), ("tour", Tour), ("arcs", Arcs)):
            if getattr(self, name) not in get_args(kind):
                raise InputError(
                    f"membership {name} {getattr(self, name)!r} is unknown: choose one "
                    f"of {', '.join(get_args(kind))}"
                )
        if self.exchanges < 0:
            raise InputError(f"exchanges is {self.exchanges}, not 0 or more")
        if not self.time_limit > 0:
            raise InputError(f"time limit is {self.time_limit:g} s, not above 0")

    @classmethod
    def suited_to(cls, normalisation: str) -> MembershipOptions:
        """Return the defaults for a normalisation; ``row`` needs both arcs."""
        return cls(arcs="both" if normalisation == "row" else "out")


def evidence(problem: Problem, arcs: Arcs = "out") -> Tensor:
    """Log-probability that k serves i in whole 2⁻²⁰ shares, shape (B, N', M)."""
    totals = []
    padding = ~problem.customers
    padding[:, 0] = False
    for vehicle in range(problem.fleet):  # one at a time, to bound the memory
        part = problem.log_probs[problem.owner, vehicle].double()  # (B, N', N')
        shares = (part.clamp_(max=0.0).exp_() * _SHARES).round_().long()
        shares = shares.masked_fill_(padding[:, None], 0)
        total = shares.sum(2)
        if arcs == "both":
            total = total + shares.masked_fill_(padding[:, :, None], 0).sum(1)
        totals.append(total)
    log = torch.stack(totals, 2).clamp(min=1).double().log()
    return (log * _LOG_SHARES).round().long()


def assign(problem: Problem, options: MembershipOptions) -> Tensor:
    """
    Give customers vehicles that have room for them, likely ones first.

    Returns
    -------
    The vehicle of each customer, shape (B, N'); M for those left out, the depot and
    padding.
    """
    value = evidence(problem, options.arcs)
    vehicle = _by_regret(problem, value)
    steps = options.exchanges
    vehicle = exchange(problem, vehicle, value, steps=steps, polish=True)
    if options.assign == "exact":
        return _exactly(problem, value, vehicle, options.time_limit)
    return vehicle


def _by_regret(problem: Problem, value: Tensor) -> Tensor:
    """Assign the customer with the largest regret, again and again."""
    rows, size, fleet = value.shape
    everyone = torch.arange(rows, device=problem.device)
    # Among equal regrets the largest demand goes first.
    order = (-problem.demands).sort(dim=1, stable=True).indices
    demands = problem.demands.gather(1, order)
    value = value.gather(1, order[:, :, None].expand(-1, -1, fleet))
    waits = problem.customers.gather(1, order)
    left = problem.room.clone()
    vehicle = torch.full_like(demands, fleet)
    for _ in range(size - 1):
        full = (demands[:, :, None] > left[:, None]) | ~waits[:, :, None]
        open_value = value.masked_fill(full, _LEAST)  # (B, N', M)
        best, choice = open_value.max(2)
        second = open_value.scatter(2, choice[:, :, None], _LEAST).amax(2)
        regret = (best - second).masked_fill(best == _LEAST, -1)
        chosen = regret.argmax(1)
        target = choice[everyone, chosen]
        fits = best[everyone, chosen] > _LEAST
        vehicle[everyone, chosen] = torch.where(fits, target, vehicle[everyone, chosen])
        waits[everyone, chosen] &= ~fits
        left[everyone, target] -= demands[everyone, chosen] * fits
    return torch.full_like(vehicle, fleet).scatter(1, order, vehicle)


def _exactly(
    problem: Problem, value: Tensor, vehicle: Tensor, time_limit: float
) -> Tensor:
    """Replace each instance's assignment by the likeliest one."""
    require("scipy.optimize", "network", "the exact assignment to vehicles")
    from fixedfleet.planning.exact import likeliest

    result = vehicle.cpu().clone()
    for row in range(problem.rows):
        mine = problem.customers[row].nonzero()[:, 0].cpu()
        fleet = problem.vehicles[row].nonzero()[:, 0].cpu()
        chosen = likeliest(
            (value[row].cpu()[mine][:, fleet].double() / _LOG_SHARES).numpy(),
            problem.demands[row].cpu()[mine].numpy(),
            int(problem.capacity[row]),
            time_limit,
        )
        if chosen is not None:
            result[row, mine] = fleet[torch.from_numpy(chosen)]
    return result.to(vehicle.device)
