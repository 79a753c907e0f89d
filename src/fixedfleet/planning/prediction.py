"""
A network's predictions as tensors: Ŷ, and the instance data that decoders need.

Ŷ[b, k, i, j] is the probability that vehicle k of instance b drives from location i to
location j. B is the number of instances, M of vehicles, and N' of locations, depot
included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.model import Factors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fixedfleet.plan import Plan, PlanBatch
    from fixedfleet.planning.decoders import PlanDecoder
    from fixedfleet.planning.repair import RepairMethod, RepairOptions

__all__ = ["Prediction"]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Prediction:
    """
    The plans that a network predicts for a batch of instances, as tensors.

    :func:`predict` returns a prediction. :meth:`plot` draws it and :meth:`decode` turns
    it into plans. You can also make a prediction from your own Ŷ. ``prediction[3]`` is
    the prediction for one instance, ``prediction[:10]`` for some of them.

    Attributes
    ----------
    log_probs
        log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed; or
        :class:`fixedfleet.model.Factors`, from which log Ŷ can be computed.
    demands
        Demands as whole numbers, shape (B, N'); 0 for the depot and for padding.
    capacity
        The capacity of a vehicle in the same units, shape (B,).
    customers
        Which locations are customers, shape (B, N'); false for the depot and padding.
    vehicles
        Which vehicles exist, shape (B, M); padding comes last.
    distances
        Distances by which decoders compare tours, float64, shape (B, N', N').
    instances
        The instance or the batch that this prediction is for; None if it is not known.

    Raises
    ------
    InputError
        If a tensor has the wrong shape or type.
    """

    log_probs: Tensor | Factors
    demands: Tensor
    capacity: Tensor
    customers: Tensor
    vehicles: Tensor
    distances: Tensor
    instances: Instance | InstanceBatch | None = None

    def __post_init__(self) -> None:
        shape: tuple[int, ...]
        if isinstance(self.log_probs, Factors):
            batch, customers, vehicles = self.log_probs.membership.shape
            shape = (batch, vehicles, customers + 1, customers + 1)
        else:
            shape = tuple(self.log_probs.shape)
        if len(shape) != 4 or shape[2] != shape[3] or min(shape[1:]) < 1:
            raise InputError(f"log_probs has shape {shape}, not (B, M, N', N')")
        batch, fleet, size, _ = shape
        for name, wanted in {
            "demands": (batch, size),
            "capacity": (batch,),
            "customers": (batch, size),
            "vehicles": (batch, fleet),
            "distances": (batch, size, size),
        }.items():
            found = tuple(getattr(self, name).shape)
            if found != wanted:
                raise InputError(f"{name} has shape {found}, not {wanted}")
        for name in ("demands", "capacity"):
            if getattr(self, name).dtype != torch.int64:
                raise InputError(f"{name} are not whole units (torch.int64)")

    def check_values(self) -> None:
        """
        Raise InputError for NaN in Ŷ, a negative demand, or a capacity below 1.

        On a GPU, this waits until the prediction is finished.
        """
        given = self.log_probs
        if isinstance(given, Factors):
            given = given.membership
        if given.isnan().any():
            raise InputError("log_probs holds NaN: the network's weights have diverged")
        if (self.demands < 0).any():
            raise InputError("demands holds a negative amount")
        if (self.capacity < 1).any():
            raise InputError("capacity holds an amount below 1")

    def __len__(self) -> int:
        """Return the number of instances, B."""
        return len(self.demands)

    def __repr__(self) -> str:
        return (
            f"Prediction({len(self)} instances, {self.locations - 1} customers, "
            f"{self.fleet} vehicles, on {self.demands.device})"
        )

    def __getitem__(self, rows: int | slice | Tensor) -> Prediction:
        """
        Return the prediction for some instances of the batch.

        If ``rows`` is a tensor, ``instances`` of the result is None.
        """
        found: Instance | InstanceBatch | None = None
        if isinstance(self.instances, InstanceBatch) and not isinstance(rows, Tensor):
            found = self.instances[rows]
        if isinstance(rows, int):
            rows = slice(rows, rows + 1 or None)
        logs = self.log_probs
        return Prediction(
            log_probs=Factors(*(part[rows] for part in logs))
            if isinstance(logs, Factors)
            else logs[rows],
            demands=self.demands[rows],
            capacity=self.capacity[rows],
            customers=self.customers[rows],
            vehicles=self.vehicles[rows],
            distances=self.distances[rows],
            instances=found,
        )

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Ŷ as an array of shape (B, M, N', N'); 0 where an edge is not allowed."""
        return np.asarray(self.edges.detach().cpu().double().exp().numpy())

    @cached_property
    def edges(self) -> Tensor:
        """log Ŷ, shape (B, M, N', N'), computed from :class:`Factors` if necessary."""
        logs = self.log_probs
        return logs.edges() if isinstance(logs, Factors) else logs

    def decode(
        self,
        decoding: str | PlanDecoder = "membership",
        repair: RepairMethod | RepairOptions = "room",
    ) -> Plan | PlanBatch:
        """
        Turn the prediction into a plan, or into a batch of plans.

        The result is one plan if the prediction is for an :class:`Instance`. Plans
        never exceed the capacity or the fleet, and serve no customer twice. They may
        leave customers unserved. To let the repair add tours beyond the fleet instead,
        pass ``repair=RepairOptions("room", guarantee=True)``.

        Parameters
        ----------
        decoding
            ``greedy``, ``authors``, ``edges``, ``membership``, ``beam``, or ``beam200``
            for a beam of width 200; a registered name, "module.py:Name", or your own
            function.
        repair
            How customers that the decoding left unserved are inserted: ``none``,
            ``paper`` (Algorithm 1), ``likeliest``, ``room``, or
            :class:`fixedfleet.planning.RepairOptions`, which explains these names.

        Raises
        ------
        InputError
            If the prediction holds invalid numbers (see :meth:`check_values`), or there
            is no such decoding or repair.
        """
        from fixedfleet.planning.decoders import decode

        plans = decode(self, decoding, repair)
        return plans[0] if isinstance(self.instances, Instance) else plans

    def plot(self, ax: Any = None) -> Any:
        """
        Draw Ŷ on the map, and return the axes: the likelier an edge, the darker.

        Parameters
        ----------
        ax
            Axes of matplotlib to draw on. Default: new ones.

        Raises
        ------
        InputError
            If this is not the prediction of one instance.
        """
        from fixedfleet.plotting import plot_prediction

        if not isinstance(self.instances, Instance):
            raise InputError(
                f"a picture shows one instance, and this prediction has {len(self)}: "
                "take one of them, as in prediction[0].plot()"
            )
        return plot_prediction(self.probabilities[0], self.instances, ax)

    @property
    def locations(self) -> int:
        """The number of locations N', including the depot and padding."""
        return self.demands.shape[1]

    @property
    def fleet(self) -> int:
        """The number of vehicles M, including padding."""
        return self.vehicles.shape[1]

    @property
    def rows(self) -> Tensor:
        """The numbers 0, 1, …, B − 1 on the prediction's device, shape (B,)."""
        return torch.arange(len(self), device=self.demands.device)

    @property
    def room(self) -> Tensor:
        """The capacity of each vehicle, shape (B, M); −1 for padding."""
        return torch.where(self.vehicles, self.capacity[:, None], -1)
