"""The Attention Model of Kool, van Hoof and Welling (2019), with published weights."""

# ruff: noqa: E402  # a missing torch is to be named before anything imports it
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, get_args

from fixedfleet.errors import InputError, at_least, check_choice, check_whole, require

require("torch", "network", "the Attention Model")

import numpy as np
import torch
from torch import Tensor

from experiments.attention_model import Decoding
from experiments.attention_model.attention_decoding import decode, shortest
from experiments.attention_model.attention_weights import read_network
from fixedfleet.model.devices import check_device
from fixedfleet.model.features import Batch, collate
from fixedfleet.plan import PlanBatch

if TYPE_CHECKING:
    import os

    from fixedfleet.instance import InstanceBatch


__all__ = ["AttentionModel"]

# How many numbers of four bytes to hold at a time, and roughly how many are needed per
# node of an instance, per node of a plan, and per pair of nodes.
_NUMBERS = 2**26
_ENCODED = 1500
_DECODED = 80
_DISTANCES = 10


class AttentionModel:
    """
    The network with its weights, and the plans it makes: tours node by node.

    The model has no bound on the fleet: a plan may have more tours than vehicles. It
    needs coordinates, and treats them as points in a plane whatever the metric.

    Parameters
    ----------
    path
        A folder of the published weights such as ``cvrp_50``, or the file
        ``epoch-99.pt`` in it, with ``args.json`` beside it.
    decoding
        ``greedy`` takes the most likely node at each step; ``sampling`` draws many
        plans at random and keeps the shortest.
    samples
        Number of plans to draw per instance.
    device
        Where to compute.

    Attributes
    ----------
    customers
        The number of customers that the network was trained for.

    Raises
    ------
    InputError
        If the weights are missing, corrupt or of another network, or an argument is
        wrong.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        decoding: Decoding = "greedy",
        samples: int = 1280,
        device: str = "cpu",
    ) -> None:
        check_choice("decoding", decoding, get_args(Decoding))
        self.decoding = decoding
        self.samples = check_whole("samples", samples, at_least(1))
        self.device = check_device(device)
        self.network = read_network(path).to(self.device)
        self.customers = self.network.settings.customers

    def solve_batch(
        self, batch: InstanceBatch, *, seed: int = 0, batch_size: int | None = None
    ) -> PlanBatch:
        """
        Plan equal-sized instances, each with any number of vehicles.

        Parameters
        ----------
        batch
            The instances.
        seed
            Seed of the samples. On one device the same seed and ``batch_size`` give
            the same plans.
        batch_size
            Instances at a time. Default: as many as need about 256 MiB. Samples are
            drawn in several rounds if those of all these instances need more.

        Raises
        ------
        InputError
            If a customer demands more than the capacity, or an instance has no
            coordinates.
        """
        _check_demands(batch)
        nodes = batch.num_customers + 1
        if batch_size is None:
            plans = self.samples if self.decoding == "sampling" else 1
            each = nodes * (_ENCODED + _DECODED * plans + _DISTANCES * nodes)
            batch_size = max(1, _NUMBERS // each)
        batch_size = check_whole("batch_size", batch_size, at_least(1))
        at_once = max(1, _NUMBERS // (_DECODED * nodes * batch_size))
        seed = check_whole("seed", seed, at_least(0))
        generator = torch.Generator(self.device).manual_seed(seed % 2**63)
        routes = np.zeros((len(batch), 2 * batch.num_customers), dtype=np.int64)
        for first in range(0, len(batch), batch_size):
            rows = slice(first, first + batch_size)
            found = self._plan(batch[rows], generator, at_once)
            routes[rows] = found.cpu().numpy()
        return PlanBatch(routes)

    def _plan(
        self, instances: InstanceBatch, generator: torch.Generator, at_once: int
    ) -> Tensor:
        """Plan instances together, ``at_once`` samples at a time: routes (B, 2 N)."""
        batch = _as_trained(instances, self.device)
        with torch.inference_mode():
            prepared = self.network.prepare(
                batch.features.coordinates, batch.features.demands
            )
            make = partial(decode, self.network, prepared, batch)
            if self.decoding == "greedy":
                return make()[:, 0]
            own = np.stack([instance.distances for instance in instances])
            distances = torch.from_numpy(own).to(self.device)
            size, nodes = batch.units.shape
            best = batch.units.new_zeros((size, 0, 2 * (nodes - 1)))
            for drawn in range(0, self.samples, at_once):
                count = min(at_once, self.samples - drawn)
                plans = make(samples=count, generator=generator)
                best = shortest(distances, torch.cat((best, plans), dim=1))
            return best[:, 0]


def _check_demands(batch: InstanceBatch) -> None:
    large = np.argwhere(batch.demands > batch.capacity[:, None])
    if len(large):
        row, customer = large[0]
        raise InputError(
            f"customer {customer + 1} of instance {row} demands "
            f"{batch.demands[row, customer]} of a capacity of {batch.capacity[row]}: "
            "no plan serves it"
        )


def _as_trained(instances: InstanceBatch, device: torch.device) -> Batch:
    """Collate instances; those inside the unit square keep their coordinates."""
    batch = collate(instances, device)
    points = torch.from_numpy(np.array(instances.coordinates))
    points = points.view(batch.features.coordinates.shape)
    inside = ((points >= 0) & (points <= 1)).flatten(1).all(1)
    # The network was trained in the unit square, so only other instances are scaled.
    coordinates = torch.where(
        inside.to(device)[:, None, None],
        points.to(device, torch.float32),
        batch.features.coordinates,
    )
    return batch._replace(features=batch.features._replace(coordinates=coordinates))
