"""Plan instances with a network: predict, decode and repair."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import torch

from fixedfleet.errors import InputError
from fixedfleet.instance import Instance, InstanceBatch
from fixedfleet.interrupts import interrupts_deferred
from fixedfleet.model import DEFAULT_MODEL, load_once
from fixedfleet.model.devices import calm_threads, check_device
from fixedfleet.plan import Plan, PlanBatch
from fixedfleet.planning.decoders import get_decoder
from fixedfleet.planning.predicting import (
    certain_prediction,
    chosen_precision,
    predict_views,
)
from fixedfleet.planning.repair import RepairOptions, repair_tours
from fixedfleet.planning.tour_groups import replan_groups
from fixedfleet.planning.tours import make_plans, tour_loads, unserved_customers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from fixedfleet.model.devices import Precision
    from fixedfleet.planning.decoders import PlanDecoder
    from fixedfleet.planning.prediction import Prediction

__all__ = ["PlansByNetwork", "load_decoding", "load_network", "plan_by_network"]

# The instances are split so that decoding a part takes at most this many bytes.
_BYTES = {"cpu": 2**30, "cuda": 2**33}
_MOST = 2**14  # the most instances that are decoded at a time
_FUSED = 256  # with at least this many instances, compiling with Triton pays off


@dataclass(frozen=True, eq=False)
class PlansByNetwork:
    """
    Plans of a network, with times and numbers of unserved customers.

    Attributes
    ----------
    plans
        The plans, which may leave customers unserved.
    seconds
        The time of each step (``network``, ``decoding``, ``repair``, ``passes``) for
        all instances together, in seconds.
    left_early
        How many customers of each instance the decoder left unserved although a vehicle
        had room for them, shape (B,). They are counted before the repair, and with
        several symmetries only for the first one.
    left_full
        How many customers of each instance the decoder left unserved because no vehicle
        had room for them, shape (B,), counted in the same way.
    bits
        The bits of the numbers in the network's matrix products: 16 or 32.
    """

    plans: PlanBatch
    seconds: Mapping[str, float]
    left_early: NDArray[np.int64]
    left_full: NDArray[np.int64]
    bits: int


def plan_by_network(
    instances: InstanceBatch,
    model: str = DEFAULT_MODEL,
    *,
    device: str = "cpu",
    decoding: str | PlanDecoder = "membership",
    repair: RepairOptions | None = None,
    symmetries: int = 1,
    passes: int = 0,
    precision: Precision | None = None,
) -> PlansByNetwork:
    """
    Plan instances with a network, without a search.

    Parameters
    ----------
    instances
        The instances, with coordinates; their sizes may differ.
    model
        The name of a shipped network, or the path of a network's file.
    device
        Where to predict and decode: ``cpu``, ``cuda`` or ``cuda:1``.
    decoding
        The decoder, as :func:`fixedfleet.planning.get_decoder` takes it.
    repair
        How customers that the decoder left unserved are inserted. Default: ``room``.
    symmetries
        Predict each instance under this many of the square's eight symmetries and keep
        the best plan.
    passes
        How often groups of neighbouring tours are planned again by the network, each
        group as a separate instance. The new tours of a group are kept if they are
        shorter.
    precision
        As in :func:`fixedfleet.planning.predict`.

    Raises
    ------
    InputError
        If an instance has no coordinates, or there is no such network, device, decoder
        or repair.
    """
    kind = check_device(device).type
    if passes:
        instances.require_plain("passes of a network")
    for row in np.flatnonzero(~instances.euclidean):
        if not instances[row].has_coordinates:
            raise InputError(
                f"instance {row} has a distance matrix and no coordinates: a network "
                "needs coordinates"
            )
    make_tours, options = get_decoder(decoding), repair or RepairOptions()
    network = load_once(model, device, precision)
    many = kind == "cuda" and len(instances) >= _FUSED
    if many and find_spec("triton"):
        network.fuse()
    light = network.factored and decoding == "membership"
    load_decoding(decoding if isinstance(decoding, str) else "membership", device)
    clock = _Clock(device)
    left = np.zeros((2, len(instances)), dtype=np.int64)
    parts = []
    for rows in _portions(instances, _BYTES[kind], edges=not light):
        batch = instances[rows]
        views = predict_views(network, batch, symmetries, precision=precision)
        best, left[:, rows] = _best_of_views(batch, views, make_tours, options, clock)
        parts.append((rows, best.routes))
    plans = PlanBatch.gather(len(instances), parts)
    if passes:
        again = partial(
            plan_by_network,
            model=model,
            device=device,
            decoding=decoding,
            repair=repair,
            symmetries=symmetries,
            precision=precision,
        )
        plans = replan_groups(instances, plans, lambda some: again(some).plans, passes)
        clock.close("passes")
    bits = 16 if chosen_precision(network, precision) == "bf16" else 32
    return PlansByNetwork(plans, clock.seconds, left[0], left[1], bits)


@cache
def load_network(device: str = "cpu") -> None:
    """
    Load the default network, and all code that plans with it.

    Call it before a time limit begins.
    """
    plan_by_network(_tiny_batch(), device=device)


@cache
def load_decoding(decoding: str = "membership", device: str = "cpu") -> None:
    """
    Load all code that turns predictions into plans, or compile it the first time.

    Some of it is seldom needed: only a customer for whom no tour has room makes the
    repair settle all customers anew. So a tiny instance with such a customer goes
    through all steps here, before a time is measured or limited.
    """
    batch = _tiny_batch()
    prediction = certain_prediction(batch, [Plan([[1], [2]])], device=device)
    with interrupts_deferred():  # Numba's compiler may lose a KeyboardInterrupt
        tours = torch.zeros_like(get_decoder(decoding)(prediction))
        tours[0, :, 0] = torch.tensor([1, 2])  # neither has room for customer 3
        plans = make_plans(repair_tours(prediction, tours, RepairOptions()))
        _best(batch, [plans, plans]).feasible(batch)


def _tiny_batch() -> InstanceBatch:
    """Return a batch of one instance, whose four customers fill its two vehicles."""
    tiny = Instance(
        depot=(0, 0),
        customers=[(1, 0), (2, 0), (3, 0), (4, 0)],
        demands=[2, 2, 3, 1],
        capacity=4,
        vehicles=2,
    )
    return InstanceBatch.of([tiny])


class _Clock:
    """Adds up the seconds that each step of planning takes on a device."""

    def __init__(self, device: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._device = device
        self._begin = time.perf_counter()

    def close(self, part: str) -> None:
        """End the named step: add to it the time since the previous step ended."""
        if self._device != "cpu":
            torch.cuda.synchronize(self._device)
        now = time.perf_counter()
        self.seconds[part] += now - self._begin
        self._begin = now


def _best_of_views(
    batch: InstanceBatch,
    views: Iterator[Prediction],
    make_tours: PlanDecoder,
    options: RepairOptions,
    clock: _Clock,
) -> tuple[PlanBatch, NDArray[np.int64]]:
    """
    Return the best plan of each instance over all views, and two counts per instance.

    A view is an instance that is rotated or mirrored by a symmetry of the square;
    ``views`` yields the predictions for them, one symmetry after the other. The counts
    are those of :func:`_count_left_out` for the first view, shape (2, B).
    """
    found: list[PlanBatch] = []
    for prediction in views:
        clock.close("network")
        with calm_threads(prediction.demands.device):
            prediction.check_values()
            tours = make_tours(prediction)
            clock.close("decoding")
            if not found:
                left = _count_left_out(prediction, tours)
            found.append(make_plans(repair_tours(prediction, tours, options)))
        clock.close("repair")
    return _best(batch, found), left


def _count_left_out(prediction: Prediction, tours: Tensor) -> NDArray[np.int64]:
    """
    Return two counts of unserved customers for each instance, shape (2, B).

    The first counts the customers that fit into some vehicle, the second those that do
    not fit into any.
    """
    unserved = unserved_customers(tours, prediction.customers)
    room = prediction.room - tour_loads(tours, prediction.demands)
    fits = prediction.demands <= room.amax(1, keepdim=True)
    early, full = unserved & fits, unserved & ~fits
    counts: NDArray[np.int64] = torch.stack([early.sum(1), full.sum(1)]).cpu().numpy()
    return counts


def _best(batch: InstanceBatch, found: list[PlanBatch]) -> PlanBatch:
    """
    Return the best plan of each instance; ``found`` holds one batch of plans per view.

    The best plan serves most customers. Ties are broken by the number of tours beyond
    the fleet, then by the length.
    """
    if len(found) == 1:
        return found[0]
    missing = [-(plans.routes > 0).sum(1) for plans in found]
    excess = [np.maximum(plans.vehicles() - batch.vehicles, 0) for plans in found]
    lengths = [plans.lengths(batch) for plans in found]
    best = np.lexsort((lengths, excess, missing), axis=0)[0]
    parts = [(best == view, plans[best == view]) for view, plans in enumerate(found)]
    return PlanBatch.gather(len(batch), ((rows, some.routes) for rows, some in parts))


def _portions(
    instances: InstanceBatch, memory: int, *, edges: bool
) -> Iterator[NDArray[np.int64]]:
    """
    Yield the row numbers of instances in portions that fit into memory when decoded.

    Smaller instances come first. The portions are as large as possible, because a GPU
    decodes many instances in the time of the slowest one. ``memory`` is in bytes;
    ``edges`` says whether the decoder needs log Ŷ of all M·N'² edges.
    """
    rows = np.argsort(instances.sizes, kind="stable")
    if not len(rows):
        return
    nodes = int(instances.sizes.max()) + 1
    tables = 16 + edges * 6 * int(instances.vehicles.max())  # each of N'² floats
    count = min(_MOST, max(1, memory // (4 * tables * nodes**2)))
    for begin in range(0, len(rows), count):
        yield rows[begin : begin + count]
