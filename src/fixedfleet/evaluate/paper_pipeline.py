"""The paper's way: a search begins with the start's plan as it is."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.evaluate.methods import Answer
from fixedfleet.evaluate.pipeline import Pipeline
from fixedfleet.evaluate.rows import Results
from fixedfleet.evaluate.starts import first_answers
from fixedfleet.plan import Plan, charge
from fixedfleet.search import Stop, improve
from fixedfleet.search.method import LEAST_SECONDS

if TYPE_CHECKING:
    from fixedfleet.evaluate.methods import Limit
    from fixedfleet.evaluate.rows import Row
    from fixedfleet.instance import Instance

__all__ = ["PaperPipeline"]


@dataclass(frozen=True)
class PaperPipeline(Pipeline):
    """
    A start's plans, improved by a search that may use as many vehicles as the start.

    The search may empty the tours beyond the fleet. Customers that a network leaves
    out get such a tour first.

    Parameters
    ----------
    kept
        A file of rows that has the start's plans, which are then not made again. The
        row of the search has the time of both.
    start_name
        Name of the start alone, under which the file has its rows.
    """

    kept: str = ""
    start_name: str = ""

    @property
    def on_gpu(self) -> bool:
        """Whether it makes the start's plans, on a GPU."""
        return not self.kept and self.start.on_gpu

    @property
    def limits(self) -> tuple[Limit, ...]:
        """The kinds of limit that the search takes."""
        return super().limits and ("time",)

    def check_start(self) -> None:
        """Raise an error if the start cannot run here, or if it has no rows kept."""
        if self.kept:
            _kept_rows(self.kept, self.start_name)
        else:
            self.start.check()

    def within_time(
        self, instance: Instance, time_limit: float, seed: int, vehicle_cost: float
    ) -> Answer:
        """Improve the start's plan as it is, for a fleet of as many vehicles."""
        begin = time.perf_counter()
        if self.kept:
            row = _kept_row(self.kept, self.start_name, instance.name)
            first = Answer(None if row.tours is None else Plan(row.tours), start=row)
            begin -= row.seconds
        else:
            (first,) = first_answers(self.start, [instance], seed)
        if first.plan is None or first.plan.unserved(instance):
            return first._replace(plan=None, reason="the start leaves customers out")
        fleet = max(instance.vehicles, first.plan.vehicles)
        began = time.perf_counter()
        left = max(time_limit - (began - begin), LEAST_SECONDS)
        found = improve(
            instance.with_vehicles(fleet),
            first.plan,
            search=self.search,
            stop=Stop(left),
            seed=seed,
            vehicle_cost=charge(self.objective, vehicle_cost),
        )
        spent = {"search": time.perf_counter() - began}
        return first._replace(plan=found.plan, details={**first.details, **spent})


def _kept_row(path: str, method: str, instance: str) -> Row:
    """Return the row that has a start's plan."""
    row = _kept_rows(path, method).get(instance)
    if row is None:
        raise InputError(
            f"{path} has no row of {method!r} for {instance}: make it first"
        )
    return row


@functools.cache
def _kept_rows(path: str, method: str) -> dict[str, Row]:
    """Return the rows of a method by instance; raise InputError if there are none."""
    rows = {row.instance: row for row in Results(path).rows() if row.method == method}
    if not rows:
        raise InputError(
            f"{path} has no rows of the method {method!r}: make them first"
        )
    return rows
