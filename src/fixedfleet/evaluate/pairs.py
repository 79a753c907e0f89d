"""Compare two methods instance by instance."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.evaluate.metrics import Mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fixedfleet.evaluate.rows import Row
    from fixedfleet.evaluate.sets import InstanceSet

    Limits = tuple[float | None, int | None]  # seconds, iterations

__all__ = ["Pair", "compare"]

_SAME = 1e-9  # costs count as equal if their relative difference is smaller


@dataclass(frozen=True, kw_only=True)
class Pair:
    """
    The comparison of two methods on the same instances with one limit.

    Attributes
    ----------
    set, first, second
        Names of the set and of the two methods.
    time_limit, iterations
        The limit of both methods, in seconds or in iterations. If one method takes no
        limit, it is the limit of the other.
    difference
        Mean percentage by which the first method's cost lies above the second one's,
        with its 95 % interval. Only instances count that both methods solve within the
        fleet.
    better, equal, worse
        On how many of these instances the first method is better, equal and worse.
    """

    set: str
    first: str
    second: str
    time_limit: float | None
    iterations: int | None
    difference: Mean
    better: int
    equal: int
    worse: int


def compare(
    rows: Iterable[Row], instance_set: InstanceSet, first: str, second: str
) -> list[Pair]:
    """
    Return comparisons of two methods on a set, one for each common limit.

    The seeds of an instance are averaged first. A method without a limit is compared
    with every limit of the other method.

    Raises
    ------
    InputError
        If there is no instance that both methods solve with the same limit and
        objective.
    """
    names = set(instance_set.names)
    costs: dict[str, dict[tuple[str, Limits], dict[str, list[float]]]] = {}
    for row in rows:
        if row.instance in names and row.within and row.cost is not None:
            limit = row.time_limit, row.iterations
            of_method = costs.setdefault(row.method, {})
            of_limit = of_method.setdefault((row.objective, limit), defaultdict(list))
            of_limit[row.instance].append(row.cost)
    found: list[Pair] = []
    for (objective, limit), mine in costs.get(first, {}).items():
        for (other, base), theirs in costs.get(second, {}).items():
            free = (None, None)
            if objective == other and (limit == base or free in (limit, base)):
                titles = (instance_set.name, first, second)
                both = base if limit == free else limit
                found += _pairs(titles, both, mine, theirs)
    if not found:
        raise InputError(
            f"{first} and {second} have no instance of {instance_set.name} in common "
            "that both solve with the same limit and objective"
        )
    return sorted(found, key=lambda p: (p.time_limit or 0.0, p.iterations or 0))


def _pairs(
    titles: tuple[str, str, str],
    limit: Limits,
    mine: Mapping[str, list[float]],
    theirs: Mapping[str, list[float]],
) -> Iterator[Pair]:
    """
    Yield the comparison of two methods with one limit.

    Nothing is yielded if there is no instance that both methods solve. ``titles`` are
    the names of the set and of the methods. ``mine`` and ``theirs`` have the costs of
    the first and of the second method by instance, one cost per seed.
    """
    costs = [(fmean(mine[one]), fmean(theirs[one])) for one in mine if one in theirs]
    costs = [(m, t) for m, t in costs if t > 0]
    signs = [0 if math.isclose(m, t, rel_tol=_SAME) else m - t for m, t in costs]
    mean = Mean.of([100 * (m / t - 1) for m, t in costs])
    if mean is not None:
        yield Pair(
            set=titles[0],
            first=titles[1],
            second=titles[2],
            time_limit=limit[0],
            iterations=limit[1],
            difference=mean,
            better=sum(sign < 0 for sign in signs),
            equal=sum(sign == 0 for sign in signs),
            worse=sum(sign > 0 for sign in signs),
        )
