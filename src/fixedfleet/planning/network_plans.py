"""Plan instances by a network: predict, decode and repair."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import torch

from fixedfleet.errors import InputError
from fixedfleet.model import DEFAULT_MODEL, load_once
from fixedfleet.model.devices import calm_threads, check_device
from fixedfleet.plan import PlanBatch
from fixedfleet.planning.decoders import get_decoder
from fixedfleet.planning.predicting import chosen_precision, predict_views
from fixedfleet.planning.repair import RepairOptions, repair_tours
from fixedfleet.planning.tour_groups import replan_groups
from fixedfleet.planning.tours import make_plans, tour_loads, unserved_customers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from fixedfleet.instance import InstanceBatch
    from fixedfleet.model.devices import Precision
    from fixedfleet.planning.decoders import PlanDecoder
    from fixedfleet.planning.prediction import Prediction

__all__ = ["PlansByNetwork", "plan_by_network"]

# The memory that the instances decoded at a time may take, in bytes.
_BYTES = {"cpu": 2**30, "cuda": 2**33}
_MOST = 2**14  # instances decoded at a time
_FUSED = 256  # with at least this many instances, compiling with Triton pays off


@dataclass(frozen=True, eq=False)
class PlansByNetwork:
    """
    Plans of a network, and what happened on the way to them.

    Attributes
    ----------
    plans
        The plans, which may leave customers out.
    seconds
        Seconds of the parts ``network``, ``decoding``, ``repair`` and ``passes``, for
        all instances.
    left_early, left_full
        The customers that the decoder left out, before any repair, shape (B,): the
        number of those that would fit into a vehicle which returned to the depot early,
        and the number of those for which no vehicle has room. With several symmetries:
        of the first.
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
    decoding: str = "membership",
    repair: RepairOptions | None = None,
    symmetries: int = 1,
    passes: int = 0,
    precision: Precision | None = None,
) -> PlansByNetwork:
    """
    Plan instances by a network, without a search.

    Parameters
    ----------
    instances
        The instances, with coordinates; their sizes may differ.
    model
        The name of a shipped network, or the path of one.
    device
        Where to predict and decode: ``cpu``, ``cuda`` or ``cuda:1``.
    decoding
        The decoder, as :func:`fixedfleet.planning.get_decoder` takes it.
    repair
        How customers that the decoder left out are put back; ``room`` by default.
    symmetries
        Predict each instance under this many of the square's eight symmetries and keep
        the best plan.
    passes
        How often groups of neighbouring tours are predicted again as separate
        instances. The new tours of a group are kept if they are shorter.
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


class _Clock:
    """Adds up the seconds that each step of planning takes on a device."""

    def __init__(self, device: str) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._device = device
        self._begin = time.perf_counter()

    def close(self, part: str) -> None:
        """Add the time since the last call to a step."""
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

    A view is the prediction for a rotated or mirrored instance. The counts are those of
    :func:`_count_left_out` for the first view.
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
    Count the customers left out: those that fit into some vehicle, and the others.

    The result has shape (2, B).
    """
    unserved = unserved_customers(tours, prediction.customers)
    room = prediction.room - tour_loads(tours, prediction.demands)
    fits = prediction.demands <= room.amax(1, keepdim=True)
    early, full = unserved & fits, unserved & ~fits
    counts: NDArray[np.int64] = torch.stack([early.sum(1), full.sum(1)]).cpu().numpy()
    return counts


def _best(batch: InstanceBatch, found: list[PlanBatch]) -> PlanBatch:
    """
    Return the best plan of each instance.

    It serves the most customers, then has the fewest vehicles beyond the fleet, and
    then the shortest length.
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
    Yield rows in portions whose decoding fits into the memory, smaller instances first.

    The portions are large: a GPU decodes many instances in the time of the slowest one.
    ``memory`` is in bytes; ``edges`` says whether decoding looks at all M·N'² edges.
    """
    rows = np.argsort(instances.sizes, kind="stable")
    if not len(rows):
        return
    nodes = int(instances.sizes.max()) + 1
    tables = 16 + edges * 6 * int(instances.vehicles.max())  # each of N'² floats
    count = min(_MOST, max(1, memory // (4 * tables * nodes**2)))
    for begin in range(0, len(rows), count):
        yield rows[begin : begin + count]
