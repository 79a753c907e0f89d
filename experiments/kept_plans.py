"""
Starts whose plans are read from a file of rows: those of the Attention Model.

If a search follows such a start, its rows have the time of both runs together. Rows
record a hash of the class below. So any change of its text, even of a docstring, makes
the kept rows of these methods outdated.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from experiments import RESULTS
from fixedfleet.errors import InputError
from fixedfleet.evaluate import METHODS, Answer, Results, Start
from fixedfleet.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fixedfleet.evaluate import Method, Row
    from fixedfleet.instance import Instance

__all__ = ["ATTENTION_MODEL", "KeptPlans", "is_kept"]

ATTENTION_MODEL = RESULTS / "rows-attention-model.jsonl.xz"


class KeptPlans(Start):
    """
    The plans that a file of rows has of a method.

    The rows of a search that begins with them have the time of both.
    """

    def __init__(self, method: str, file: Path) -> None:
        self.method = method
        self.file = file

    def check(self) -> None:
        """Raise InputError if the file has no rows of the method."""
        _rows(self.file, self.method)

    def plans(self, instances: Sequence[Instance], seed: int) -> list[Plan | None]:
        """Return the plans."""
        return [answer.plan for answer in self.answers(instances, seed)]

    def answers(self, instances: Sequence[Instance], _seed: int) -> list[Answer]:
        """Return the plans with their rows."""
        rows = [self._row(instance) for instance in instances]
        plans = [None if row.tours is None else Plan(row.tours) for row in rows]
        return [Answer(p, start=row) for p, row in zip(plans, rows, strict=True)]

    def _row(self, instance: Instance) -> Row:
        row = _rows(self.file, self.method).get(instance.name)
        if row is None:
            raise InputError(
                f"{self.file} has no row of {self.method!r} for {instance.name}: make "
                "it first"
            )
        return row


def is_kept(method: Method) -> bool:
    """Return whether a method only reads plans from a file, without a search."""
    start = getattr(method, "start", None)
    return isinstance(start, KeptPlans) and not getattr(method, "search", "")


@cache
def _rows(file: Path, method: str) -> dict[str, Row]:
    """Return the rows of a method in a file, by the names of their instances."""
    rows = {row.instance: row for row in Results(file).rows() if row.method == method}
    if not rows:
        raise InputError(
            f"{file} has no rows of the method {method!r}: make them first"
        )
    return rows


# The Attention Model of Kool, van Hoof and Welling (2019). It never changes, so its
# plans need not be made again.
for _method in ("am-greedy", "am-sampling"):
    METHODS.register(_method)(KeptPlans(_method, ATTENTION_MODEL))
