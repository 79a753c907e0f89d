"""
A method for evaluations: HGS-CVRP with parameters fitted to the time limit.

Rows record a hash of the class below. So any change of its text, even of a docstring,
makes the kept rows of this method outdated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.evaluate import Answer, Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.instance import Instance

__all__ = ["FittedHgs"]


class FittedHgs(Method):
    """
    HGS-CVRP alone, from nothing, with the parameters that the default search gives it.

    The solver ``hgs`` has its authors' parameters instead. The difference of the two is
    what the parameters are worth; the difference to the default search is what that
    search adds.
    """

    name = "hgs-fitted"

    def solve(
        self,
        instances: Sequence[Instance],
        *,
        vehicle_cost: float = 0.0,  # it minimises the length
        time_limit: float | None = None,
        iterations: int | None = None,
        seed: int = 0,
    ) -> list[Answer]:
        """Plan each instance within the time limit."""
        from fixedfleet.deadline import Deadline
        from fixedfleet.search.auto import fitted_parameters, split_time
        from fixedfleet.search.genetic import hgs_plans

        if time_limit is None:
            raise InputError("hgs-fitted needs a time limit")
        answers = []
        for instance in instances:
            _, population = split_time(instance.num_customers, time_limit)
            plans = hgs_plans(
                instance,
                deadline=Deadline(time_limit),
                seed=seed,
                parameters=fitted_parameters(population),
            )
            answers.append(Answer(plans[0] if plans else None))
        return answers
