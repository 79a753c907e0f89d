"""Let customers change vehicles, one or two at a time, until all have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.planning.noise import mix

if TYPE_CHECKING:
    from fixedfleet.planning.problem import Problem

__all__ = ["exchange"]

_BOUNDLESS = 2**61
_LEAST = torch.iinfo(torch.int64).min
_CHUNK = 2**25  # pairs looked at together, to bound the memory


def exchange(
    problem: Problem, vehicle: Tensor, value: Tensor, *, steps: int, polish: bool
) -> Tensor:
    """
    Improve an assignment of customers to vehicles by exchanging two customers.

    The customers without a vehicle count as one more vehicle, which has room for all;
    each vehicle also holds a stop of no demand, so that moving a single customer is an
    exchange as well. The best exchange is made, over and over. First counts what it
    puts into vehicles of the demand left out; while someone is left out, then how it
    gathers the free room in few vehicles (the sum of its squares); with nobody left
    out and if ``polish`` is set, the value of the assignment. Where someone is left
    out though the fleet has room in sum, and no exchange helps, one at random goes on;
    the assignment that leaves out least demand is kept.

    Parameters
    ----------
    problem
        The instances.
    vehicle
        Vehicle of each customer, shape (B, N'), M for none.
    value
        Value of each customer in each vehicle, whole numbers of shape (B, N', M).
    steps
        The most exchanges an instance.
    polish
        Whether to go on for value when everyone has a vehicle.

    Returns
    -------
    The vehicle of each customer, shape (B, N').
    """
    items = problem.size + problem.fleet
    chunk = max(1, _CHUNK // items**2)
    result = vehicle.clone()
    for begin in range(0, problem.rows, chunk):
        rows = torch.arange(begin, min(begin + chunk, problem.rows))
        rows = rows.to(problem.device)
        pool = _Pool(problem.take(rows), vehicle[rows], value[rows])
        for number in range(steps):
            changed = pool.step(polish, number)
            if not changed.any():
                break
            rows, pool = rows[changed], pool.take(changed)
            best = pool.is_best()
            result[rows[best]] = pool.vehicle[best, : problem.size]
    return result


class _Pool:
    """Customers and stops of no demand (I = N' + M items) in M + 1 vehicles."""

    def __init__(self, problem: Problem, vehicle: Tensor, value: Tensor) -> None:
        fleet = problem.fleet
        slots = torch.arange(fleet, device=problem.device).expand(problem.rows, -1)
        self.fleet = fleet
        self.scale = problem.capacity.double()
        self.demands = pad(problem.demands, (0, fleet))  # (B, I)
        self.vehicle = torch.cat((vehicle, slots), 1)  # (B, I)
        self.value = pad(value, (0, 1, 0, fleet))  # (B, I, M + 1)
        small = problem.demands <= problem.capacity[:, None]
        self.real = torch.cat((problem.customers & small, problem.vehicles), 1)
        number = torch.arange(self.demands.shape[1], device=problem.device)
        self.slot = number >= problem.size
        # Numbers that padding leaves alone: customers from 0, vehicles from −1 down.
        self.name = torch.where(self.slot, problem.size - 1 - number, number)
        fits = (self.demands * self.real).sum(1)
        self.enough = fits <= problem.room.clamp(min=0).sum(1)
        self.kicked = torch.zeros_like(self.enough)
        self.least = self._missing()
        self.left = pad(problem.room, (0, 1), value=_BOUNDLESS)  # (B, M + 1)
        self.left = self.left.scatter_add(1, self.vehicle, -self.demands)

    def take(self, rows: Tensor) -> _Pool:
        """Return the rows of a mask."""
        taken = object.__new__(_Pool)
        for name, field in vars(self).items():
            whole = name in ("fleet", "slot", "name")
            setattr(taken, name, field if whole else field[rows])
        return taken

    def is_best(self) -> Tensor:
        """Whether less demand is left out than before, or no chance was involved."""
        missing = self._missing()
        same = (missing == self.least) & (~self.kicked | (missing == 0))
        best = (missing < self.least) | same
        self.least = torch.minimum(missing, self.least)
        return best

    def _missing(self) -> Tensor:
        """The demand left out, (B,)."""
        return (self.demands * ((self.vehicle == self.fleet) & self.real)).sum(1)

    def step(self, polish: bool, number: int) -> Tensor:
        """Make an exchange in each row; (B,): in which rows there was one."""
        possible, served = self._possible()
        most = served.flatten(1).amax(1)  # (B,)
        out = ((self.vehicle == self.fleet) & self.real).any(1)
        candidates = possible & (served == most[:, None, None])
        value = self._value().masked_fill(~candidates, _LEAST).flatten(1)
        gain, pair = value.max(1)
        better = (most > 0) | ((gain > 0) & ~out & polish)
        gathering = out & (most == 0)
        if gathering.any():
            gathered = self._gathered().masked_fill(~candidates, -torch.inf)
            grown, other = gathered.flatten(1).max(1)
            kick = gathering & (grown <= 0) & (grown > -torch.inf) & self.enough
            chance = self._chance(number).masked_fill(gathered == -torch.inf, _LEAST)
            other = torch.where(kick, chance.flatten(1).argmax(1), other)
            pair = torch.where(gathering, other, pair)
            better = better | (gathering & (grown > 0)) | kick
            self.kicked = self.kicked | kick
        self._swap(pair, better)
        return better

    def _chance(self, number: int) -> Tensor:
        """Random numbers for all pairs of items, (1, I, I), new in each step."""
        return mix(mix(self.name + (number << 32))[:, None] + self.name)[None]

    def _possible(self) -> tuple[Tensor, Tensor]:
        """Which pairs (B, I, I) may change places, and the demand that serves."""
        room = self.left.gather(1, self.vehicle)  # (B, I)
        more = self.demands[:, :, None] - self.demands[:, None]
        apart = self.vehicle[:, :, None] != self.vehicle[:, None]
        both = self.real[:, :, None] & self.real[:, None]
        both = both & ~(self.slot[:, None] & self.slot)
        fits = (room[:, None] >= more) & (room[:, :, None] >= -more)
        possible = both & apart & fits
        outside = self.vehicle == self.fleet
        served = more * outside[:, :, None] - more * outside[:, None]
        return possible, served.masked_fill(~possible, 0)

    def _value(self) -> Tensor:
        """What each exchange adds to the value, (B, I, I)."""
        index = self.vehicle[:, None].expand(-1, self.vehicle.shape[1], -1)
        there = self.value.gather(2, index)  # item c in the vehicle of item d
        here = there.diagonal(dim1=1, dim2=2)
        return there + there.transpose(1, 2) - here[:, :, None] - here[:, None]

    def _gathered(self) -> Tensor:
        """What each exchange inside the fleet adds to the squares of the room."""
        inside = self.vehicle < self.fleet
        room = self.left.gather(1, self.vehicle) * inside
        more = self.demands[:, :, None] - self.demands[:, None]
        shift = room[:, :, None] - room[:, None] + more
        # Whole numbers up to here keep the sign exact; their product may not fit.
        scale = self.scale[:, None, None]
        grown = (more.double() / scale) * (shift.double() / scale)
        return grown.masked_fill(~(inside[:, :, None] & inside[:, None]), -torch.inf)

    def _swap(self, pair: Tensor, where: Tensor) -> None:
        items = self.vehicle.shape[1]
        both = torch.stack((pair // items, pair % items), 1)  # (B, 2)
        old = self.vehicle.gather(1, both)
        demands = self.demands.gather(1, both) * where[:, None]
        new = torch.where(where[:, None], old.flip(1), old)
        self.left.scatter_add_(1, old, demands)
        self.left.scatter_add_(1, new, -demands)
        # A stop of no demand stays: it stands for its vehicle.
        new = torch.where(self.slot[both], old, new)
        self.vehicle.scatter_(1, both, new)
