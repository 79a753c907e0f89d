"""Two methods compared instance by instance."""

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

_SAME = 1e-9  # costs that differ by a smaller share are equal


@dataclass(frozen=True, kw_only=True)
class Pair:
    """
    A method against another one on the same instances.

    Attributes
    ----------
    set, first, second
        Names of the set and of the two methods.
    time_limit, iterations
        The limit of both methods, or of the only method that takes a limit.
    difference
        Mean percentage by which the first one's cost lies above the second one's, over
        the instances that both solve within the fleet, with its 95 % interval.
    better, equal, worse
        Number of these instances on which the first one is better, equal and worse.
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
    Compare two methods on a set, once for each limit that both were run with.

    The seeds of an instance are averaged first. A method that takes no limit is
    compared with the other one at each limit.

    Raises
    ------
    InputError
        If there is nothing to compare: no instance that both solve with one limit and
        for one objective.
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

    Yield nothing if there is no instance that both solve.
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
