"""Exchange customers between vehicles, to find room for unassigned customers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

if TYPE_CHECKING:
    from fixedfleet.planning.prediction import Prediction

__all__ = ["exchange"]

_UNLIMITED = 2**61
_LEAST = torch.iinfo(torch.int64).min
_CHUNK = 2**25  # pairs examined at a time, to limit the memory


def exchange(
    prediction: Prediction,
    vehicle: Tensor,
    value: Tensor,
    *,
    steps: int,
) -> Tensor:
    """
    Assign more customers to vehicles by exchanging two at a time.

    Unassigned customers form one more vehicle, which has room for all of them. Each
    vehicle also holds an empty stop without demand. A customer that is exchanged for an
    empty stop moves alone. Each step makes the best exchange:

    1. the one that assigns the most unassigned demand, and of several such exchanges
       the one that increases the value most;
    2. if none assigns any, the one that concentrates the free room most in few vehicles
       (by the sum of its squares); if none does and the free room would be enough in
       total, a random one.

    The first assignment that leaves the least demand unassigned is returned.

    Parameters
    ----------
    prediction
        The instances.
    vehicle
        The vehicle of each customer, shape (B, N'), M if it is unassigned.
    value
        The value of each customer in each vehicle, whole numbers, shape (B, N', M).
    steps
        The largest number of exchanges per instance.

    Returns
    -------
    Tensor
        The vehicle of each customer, shape (B, N').
    """
    size = prediction.locations
    chunk = max(1, _CHUNK // (size + prediction.fleet) ** 2)
    result = vehicle.clone()
    for begin in range(0, len(prediction), chunk):
        some = slice(begin, begin + chunk)
        rows = prediction.rows[some]
        items = _first_items(prediction[some], vehicle[some], value[some])
        for number in range(steps):
            items, changed = _step(items, number)
            if not changed.any():
                break
            rows = rows[changed]
            items = _Items(*(field[changed] for field in items))
            missing = (items.demands * items.unassigned).sum(1)
            best = missing < items.least
            items = items._replace(least=torch.minimum(missing, items.least))
            result[rows[best]] = items.vehicle[best, :size]
    return result


class _Items(NamedTuple):
    """
    Customers and empty stops, I = N' + M items, in M + 1 vehicles.

    The last vehicle holds the unassigned customers.
    """

    demands: Tensor  # (B, I)
    value: Tensor  # of an item in a vehicle, (B, I, M + 1)
    real: Tensor  # which items may be exchanged, (B, I)
    capacity: Tensor  # (B,)
    enough: Tensor  # whether the fleet has room for all in total, (B,)
    vehicle: Tensor  # the vehicle of each item, (B, I)
    left: Tensor  # the room left in each vehicle, (B, M + 1)
    least: Tensor  # the least demand that was unassigned so far, (B,)

    @property
    def fleet(self) -> int:
        """The number of vehicles, M, which is also the number of the last one."""
        return self.left.shape[1] - 1

    @property
    def unassigned(self) -> Tensor:
        """Which items are unassigned customers that fit a vehicle, shape (B, I)."""
        return (self.vehicle == self.fleet) & self.real

    @property
    def stops(self) -> Tensor:
        """Which items are empty stops, shape (I,)."""
        count = self.demands.shape[1]
        number = torch.arange(count, device=self.demands.device)
        return number >= count - self.fleet


def _first_items(prediction: Prediction, vehicle: Tensor, value: Tensor) -> _Items:
    """Return the items of an assignment (B, N') before the first exchange."""
    fleet, room = prediction.fleet, prediction.room
    stops = torch.arange(fleet, device=room.device).expand(len(prediction), -1)
    demands = pad(prediction.demands, (0, fleet))
    fitting = prediction.demands <= prediction.capacity[:, None]
    real = torch.cat((prediction.customers & fitting, prediction.vehicles), 1)
    where = torch.cat((vehicle, stops), 1)
    left = pad(room, (0, 1), value=_UNLIMITED).scatter_add(1, where, -demands)
    enough = (demands * real).sum(1) <= room.clamp(min=0).sum(1)
    return _Items(
        demands=demands,
        value=pad(value, (0, 1, 0, fleet)),
        real=real,
        capacity=prediction.capacity,
        enough=enough,
        vehicle=where,
        left=left,
        least=(demands * ((where == fleet) & real)).sum(1),
    )


def _step(items: _Items, number: int) -> tuple[_Items, Tensor]:
    """Make an exchange per row; return the items, and in which rows one was made."""
    possible, served = _possible(items)
    most = served.flatten(1).amax(1)  # (B,)
    candidates = possible & (served == most[:, None, None])
    gains = _value_gains(items).masked_fill(~candidates, _LEAST).flatten(1)
    pair = gains.argmax(1)
    better = most > 0
    stuck = items.unassigned.any(1) & (most == 0)
    if stuck.any():
        gains = _room_gains(items).masked_fill(~candidates, -torch.inf)
        gain, other = gains.flatten(1).max(1)
        draw = stuck & (gain <= 0) & (gain > -torch.inf) & items.enough
        lots = _random_numbers(items, number).masked_fill(gains == -torch.inf, _LEAST)
        other = torch.where(draw, lots.flatten(1).argmax(1), other)
        pair = torch.where(stuck, other, pair)
        better = better | (stuck & (gain > 0)) | draw
    return _swap(items, pair, better), better


def _possible(items: _Items) -> tuple[Tensor, Tensor]:
    """Which pairs (B, I, I) may be exchanged, and how much demand this assigns."""
    vehicle, demands = items.vehicle, items.demands
    real, stops = items.real, items.stops
    room = items.left.gather(1, vehicle)  # (B, I)
    more = demands[:, :, None] - demands[:, None]
    apart = vehicle[:, :, None] != vehicle[:, None]
    both = real[:, :, None] & real[:, None] & ~(stops[:, None] & stops)
    fits = (room[:, None] >= more) & (room[:, :, None] >= -more)
    possible = both & apart & fits
    outside = vehicle == items.fleet
    served = more * outside[:, :, None] - more * outside[:, None]
    return possible, served.masked_fill(~possible, 0)


def _value_gains(items: _Items) -> Tensor:
    """By how much each exchange increases the value, shape (B, I, I)."""
    index = items.vehicle[:, None].expand(-1, items.vehicle.shape[1], -1)
    there = items.value.gather(2, index)  # item c in the vehicle of item d
    here = there.diagonal(dim1=1, dim2=2)
    return there + there.transpose(1, 2) - here[:, :, None] - here[:, None]


def _room_gains(items: _Items) -> Tensor:
    """By how much each exchange increases the sum of the squares of the free room."""
    inside = items.vehicle < items.fleet
    room = items.left.gather(1, items.vehicle) * inside
    more = items.demands[:, :, None] - items.demands[:, None]
    shift = room[:, :, None] - room[:, None] + more
    # The factors are exact, so the sign of their product is exact, too. As whole
    # numbers, the product could exceed the range of int64.
    scale = items.capacity.double()[:, None, None]
    gains = (more.double() / scale) * (shift.double() / scale)
    return gains.masked_fill(~(inside[:, :, None] & inside[:, None]), -torch.inf)


def _random_numbers(items: _Items, number: int) -> Tensor:
    """Random numbers for all pairs of items, shape (1, I, I), new in each step."""
    count = items.demands.shape[1]
    place = torch.arange(count, device=items.demands.device)
    # Customers are counted from 0 upwards and empty stops from −1 downwards, so that
    # padding changes no item's numbers.
    name = torch.where(items.stops, count - items.fleet - 1 - place, place)
    return _mix(_mix(name + (number << 32))[:, None] + name)[None]


def _mix(state: Tensor) -> Tensor:
    """Scramble 64-bit numbers (the finaliser of SplitMix64), the same everywhere."""
    state = state + _signed(0x9E3779B97F4A7C15)
    state = (state ^ _shift(state, 30)) * _signed(0xBF58476D1CE4E5B9)
    state = (state ^ _shift(state, 27)) * _signed(0x94D049BB133111EB)
    return state ^ _shift(state, 31)


def _shift(state: Tensor, bits: int) -> Tensor:
    """Shift right and fill with zeros, not with the sign."""
    kept: int = 2 ** (64 - bits) - 1
    return (state >> bits) & kept


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _swap(items: _Items, pair: Tensor, where: Tensor) -> _Items:
    """Exchange a pair of items, shape (B,), in the rows of ``where``."""
    count = items.vehicle.shape[1]
    both = torch.stack((pair // count, pair % count), 1)  # (B, 2)
    old = items.vehicle.gather(1, both)
    demands = items.demands.gather(1, both) * where[:, None]
    new = torch.where(where[:, None], old.flip(1), old)
    left = items.left.scatter_add(1, old, demands).scatter_add(1, new, -demands)
    # An empty stop stays in its vehicle.
    new = torch.where(items.stops[both], old, new)
    return items._replace(left=left, vehicle=items.vehicle.scatter(1, both, new))
