"""Uniform instances: the public test sets, and training sets that go with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fixedfleet.errors import InputError, check_whole
from fixedfleet.generate.checks import check_seed
from fixedfleet.instance import InstanceBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PRESETS", "Preset", "labelled_stream", "test_set", "uniform"]


class Preset(NamedTuple):
    """Capacity and fleet that go with a number of customers."""

    capacity: int
    vehicles: int


PRESETS = {20: Preset(30, 4), 50: Preset(40, 7), 100: Preset(50, 11)}


def uniform(
    n: int,
    count: int,
    *,
    seed: int,
    capacity: int | None = None,
    vehicles: int | None = None,
    reject: bool = True,
    oversample: float = 1.1,
) -> InstanceBatch:
    """
    Draw depot and customers in the unit square, demands from 1 to 9, all uniformly.

    NumPy's legacy stream is frozen: a seed gives the same instances for ever. The
    arrays are drawn one after the other, so ``count`` is part of the seed: the first
    ten of 100 instances are not those of 10.

    Parameters
    ----------
    n
        The number of customers.
    count
        The number of instances.
    seed
        Seed of NumPy's ``RandomState``.
    capacity, vehicles
        Capacity and fleet. Default: 30 and 4 for n = 20, 40 and 7 for 50, 50 and 11
        for 100; to be given for any other n.
    reject
        Whether to pass over instances whose demands exceed the fleet's capacity,
        Σq > MQ. What is left may still be impossible to pack.
    oversample
        With ``reject``, int(count · oversample) + 64 instances are drawn and the
        first ``count`` that pass are kept.
    """
    n, count = check_whole("n", n, least=1), check_whole("count", count, least=0)
    preset = _preset(n, capacity, vehicles)
    if not reject:
        return _draw_uniform(n, count, seed, preset)
    if not (math.isfinite(oversample) and oversample >= 1):
        raise InputError(f"oversample is {oversample!r}, not a number of at least 1")
    drawn = _draw_uniform(n, int(count * oversample) + 64, seed, preset)
    rows = np.flatnonzero(_within_fleet(drawn))[:count]
    if len(rows) < count:
        raise InputError(
            f"only {len(rows)} of {len(drawn)} instances drawn have demands within "
            f"{preset.vehicles} vehicles of {preset.capacity}, {count} are wanted: "
            "raise oversample or vehicles"
        )
    return drawn.take(rows)


def test_set(n: int, *, reject: bool = True) -> InstanceBatch:
    """
    Return the public test set: 10,000 uniform instances of seed 1234.

    Parameters
    ----------
    n
        20, 50 or 100 customers.
    reject
        Whether to leave out the instances with Σq > MQ; 9,646, 9,525 and 9,772
        instances remain.
    """
    n = check_whole("n", n, least=1)
    drawn = _draw_uniform(n, 10_000, 1234, _preset(n, None, None))
    return drawn.take(_within_fleet(drawn)) if reject else drawn


def labelled_stream(
    n: int, count: int, seed: int, capacity: int, fleet: int
) -> InstanceBatch:
    """Return the instances that a file of labels with these numbers belongs to."""
    return uniform(n, count, seed=seed, capacity=capacity, vehicles=fleet)


def _preset(n: int, capacity: int | None, vehicles: int | None) -> Preset:
    if n not in PRESETS and (capacity is None or vehicles is None):
        raise InputError(
            f"no capacity and fleet are known for n = {n}: give capacity and vehicles "
            f"(n = {', '.join(map(str, PRESETS))} have presets)"
        )
    known = PRESETS.get(n, Preset(1, 1))
    return Preset(
        known.capacity if capacity is None else capacity,
        known.vehicles if vehicles is None else vehicles,
    )


def _draw_uniform(n: int, size: int, seed: int, preset: Preset) -> InstanceBatch:
    rs = np.random.RandomState(check_seed(seed))
    return InstanceBatch(  # the order of the three draws is the test set's
        depots=rs.uniform(size=(size, 2)),
        customers=rs.uniform(size=(size, n, 2)),
        demands=rs.randint(1, 10, size=(size, n), dtype=np.int64),
        capacity=preset.capacity,
        vehicles=preset.vehicles,
    )


def _within_fleet(batch: InstanceBatch) -> NDArray[np.bool_]:
    # Divided rather than multiplied: vehicles times capacity may leave an int64.
    needed = -(-batch.demands.sum(axis=1) // batch.capacity)
    within: NDArray[np.bool_] = needed <= batch.vehicles
    return within
