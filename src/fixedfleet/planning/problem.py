"""What every decoder works on: the prediction with its instances, checked once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Problem", "prepare"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem:
    """
    A prediction and the instances it was made for, as tensors on one device.

    Rows may share an instance: row r belongs to prediction ``owner[r]``. Samples and
    beams are such rows, so that the large tensors exist only once.

    Attributes
    ----------
    log_probs
        log Ŷ, shape (O, M, N', N'), −inf where masked.
    owner
        The prediction each row decodes, shape (B,).
    demands
        Whole units, shape (B, N'), the depot's being 0.
    capacity
        Whole units, shape (B,).
    customers
        Which locations are customers, shape (B, N'); false for depot and padding.
    vehicles
        Which vehicles there are, shape (B, M).
    coordinates
        Shape (O, N', 2), or None.
    matrix
        Given distances, shape (O, N', N'), or None.
    """

    log_probs: Tensor
    owner: Tensor
    demands: Tensor
    capacity: Tensor
    customers: Tensor
    vehicles: Tensor
    coordinates: Tensor | None = None
    matrix: Tensor | None = None

    @property
    def rows(self) -> int:
        """The number of plans to make, B."""
        return self.demands.shape[0]

    @property
    def size(self) -> int:
        """Locations with the depot, N'."""
        return self.demands.shape[1]

    @property
    def fleet(self) -> int:
        """Vehicles with the padding, M."""
        return self.vehicles.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the tensors lie."""
        return self.demands.device

    @cached_property
    def room(self) -> Tensor:
        """What each empty vehicle carries, (B, M); −1, so nothing, for padding."""
        return torch.where(self.vehicles, self.capacity[:, None], -1)

    @property
    def has_distances(self) -> bool:
        """Whether lengths are known."""
        return self.matrix is not None or self.coordinates is not None

    @cached_property
    def distances(self) -> Tensor:
        """Distances in float64, (O, N', N'); only to rank, never to report."""
        if self.matrix is not None:
            return self.matrix.double()
        if self.coordinates is None:
            raise InputError(
                "this way of decoding needs coordinates or distances; none are given"
            )
        points = self.coordinates.double()
        step = points[:, :, None] - points[:, None]  # (O, N', N', 2)
        return (step[..., 0].square() + step[..., 1].square()).sqrt()

    def between(self, start: Tensor, end: Tensor) -> Tensor:
        """Distances from ``start`` to ``end``, both (B, …)."""
        owner = self.owner.view(-1, *[1] * (max(start.ndim, end.ndim) - 1))
        return self.distances[owner, start, end]

    def part(self, begin: int, end: int) -> Problem:
        """Return predictions ``begin`` to ``end`` as a problem of their own."""
        points, matrix = self.coordinates, self.matrix
        problem = self._with_rows(lambda tensor: tensor[begin:end])
        return replace(
            problem,
            log_probs=self.log_probs[begin:end],
            owner=problem.owner - begin,
            coordinates=None if points is None else points[begin:end],
            matrix=None if matrix is None else matrix[begin:end],
        )

    def take(self, rows: Tensor) -> Problem:
        """Return the given rows; predictions and distances are shared."""
        return self._with_rows(lambda tensor: tensor[rows])

    def repeat(self, times: int) -> Problem:
        """Return every row several times in a row, sharing its prediction."""
        if self.has_distances:
            self.distances  # noqa: B018  # once, here, and not again by each repetition
        return self._with_rows(lambda tensor: tensor.repeat_interleave(times, dim=0))

    def _with_rows(self, select: Callable[[Tensor], Tensor]) -> Problem:
        return replace(
            self,
            owner=select(self.owner),
            demands=select(self.demands),
            capacity=select(self.capacity),
            customers=select(self.customers),
            vehicles=select(self.vehicles),
            matrix=self.__dict__.get("distances", self.matrix),
        )


def prepare(
    log_probs: Tensor,
    demands: Tensor,
    capacity: Tensor,
    *,
    customers: Tensor | None = None,
    vehicles: Tensor | None = None,
    coordinates: Tensor | None = None,
    distances: Tensor | None = None,
) -> Problem:
    """
    Check the tensors a decoder is given and complete what may be left out.

    Raises
    ------
    InputError
        Where a shape, a kind of number or a value is wrong.
    """
    if log_probs.ndim != 4 or log_probs.shape[2] != log_probs.shape[3]:
        raise InputError(
            f"log_probs has shape {tuple(log_probs.shape)}, not (B, M, N', N')"
        )
    batch, fleet, size, _ = log_probs.shape
    if not log_probs.is_floating_point():
        raise InputError(f"log_probs holds {log_probs.dtype}, not floating point")
    if min(fleet, size) < 1:
        raise InputError("log_probs has no vehicle or not even a depot")
    device = log_probs.device
    capacity = capacity.to(device).expand(batch) if capacity.ndim == 0 else capacity
    given = {
        "demands": (demands, (batch, size)),
        "capacity": (capacity, (batch,)),
        "customers": (customers, (batch, size)),
        "vehicles": (vehicles, (batch, fleet)),
        "coordinates": (coordinates, (batch, size, 2)),
        "distances": (distances, (batch, size, size)),
    }
    for name, (tensor, shape) in given.items():
        if tensor is not None and tuple(tensor.shape) != shape:
            raise InputError(f"{name} has shape {tuple(tensor.shape)}, not {shape}")
    if customers is None:
        customers = torch.ones((batch, size), dtype=torch.bool, device=device)
    if vehicles is None:
        vehicles = torch.ones((batch, fleet), dtype=torch.bool, device=device)
    real = customers.to(device).bool().clone()
    real[:, 0] = False
    amounts = _whole("demands", demands).to(device)
    _check_values(log_probs, amounts, capacity)
    return Problem(
        log_probs=log_probs.detach(),
        owner=torch.arange(batch, device=device),
        demands=amounts.masked_fill(~real, 0),
        capacity=_whole("capacity", capacity).to(device),
        customers=real,
        vehicles=vehicles.to(device).bool(),
        coordinates=None if coordinates is None else coordinates.detach().to(device),
        matrix=None if distances is None else distances.detach().to(device),
    )


def _whole(name: str, tensor: Tensor) -> Tensor:
    if tensor.is_floating_point() or tensor.dtype == torch.bool:
        raise InputError(f"{name} holds {tensor.dtype}, not whole units")
    return tensor.long()


def _check_values(log_probs: Tensor, demands: Tensor, capacity: Tensor) -> None:
    if log_probs.isnan().any():
        raise InputError("log_probs holds NaN: the network's weights have diverged")
    if (demands < 0).any():
        raise InputError("demands holds a negative amount")
    if (capacity < 1).any():
        raise InputError("capacity holds an amount below 1")
