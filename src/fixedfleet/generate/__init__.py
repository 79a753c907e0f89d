"""Draw random instances from distributions, and make the public test sets."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Protocol

from fixedfleet.errors import InputError
from fixedfleet.generate.gaussian_clusters import clustered
from fixedfleet.generate.set_x import (
    CustomerPosition,
    Demand,
    DepotPosition,
    uchoa,
    uchoa_batch,
)
from fixedfleet.generate.unit_square import FLEETS, test_set, uniform
from fixedfleet.instance import InstanceBatch
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixedfleet.instance import Instance

__all__ = [
    "DISTRIBUTIONS",
    "FLEETS",
    "CustomerPosition",
    "Demand",
    "DepotPosition",
    "Distribution",
    "clustered",
    "draw",
    "test_set",
    "uchoa",
    "uchoa_batch",
    "uniform",
]


class Distribution(Protocol):
    """
    The interface of a function that draws instances.

    It may have further options, by keyword.
    """

    def __call__(
        self, n: int, count: int, *, seed: int
    ) -> InstanceBatch | Iterable[Instance]:
        """
        Return ``count`` instances of n customers; equal seeds give equal instances.
        """


DISTRIBUTIONS: Registry[Distribution] = Registry(
    "distribution",
    {
        "uniform": "fixedfleet.generate.unit_square:uniform",
        "uchoa": "fixedfleet.generate.set_x:uchoa_batch",
        "clustered": "fixedfleet.generate.gaussian_clusters:clustered",
    },
)


def draw(
    distribution: str | Distribution, n: int, count: int, *, seed: int, **options: Any
) -> InstanceBatch:
    """
    Draw random instances from a distribution.

    Parameters
    ----------
    distribution
        The name of a distribution: ``uniform``, ``uchoa``, ``clustered``, one that is
        registered with ``@DISTRIBUTIONS.register("name")``, or "module.py:Name". Or the
        function itself.
    n
        The number of customers per instance.
    count
        The number of instances.
    seed
        Seed of the random numbers.
    options
        Further options of the distribution, such as ``vehicles``.

    Raises
    ------
    InputError
        If the distribution is unknown, has no such option, or draws a wrong number of
        instances.
    """
    function = DISTRIBUTIONS.get(distribution)
    try:
        inspect.signature(function).bind(n, count, seed=seed, **options)
    except TypeError as error:
        raise InputError(f"the distribution {distribution!r}: {error}") from None
    batch = InstanceBatch.of(function(n, count, seed=seed, **options))
    if len(batch) != count:
        raise InputError(
            f"the distribution {distribution!r} drew {len(batch)} instances, not "
            f"{count}"
        )
    return batch
