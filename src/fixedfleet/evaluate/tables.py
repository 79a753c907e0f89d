"""Summaries as a Markdown table for people, and as CSV for programs."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fixedfleet.evaluate.metrics import Mean, Summary

__all__ = ["to_csv", "to_markdown"]

_NOTHING = "–"


def to_markdown(found: Sequence[Summary]) -> str:
    """
    Lay summaries out as a table, means with ± half of their 95 % interval.

    Columns that say nothing about any of the summaries are left out.
    """
    columns = [
        (title, [cell(summary) for summary in found])
        for title, cell in _COLUMNS.items()
    ]
    shown = [(t, cells) for t, cells in columns if any(c != _NOTHING for c in cells)]
    if not shown:
        return ""
    lines = [
        [title for title, _ in shown],
        ["---" if title in _TEXTS else "---:" for title, _ in shown],
        *zip(*(cells for _, cells in shown), strict=True),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def to_csv(found: Sequence[Summary]) -> str:
    """Write summaries as CSV, one line each, numbers in full."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = [
        "set", "method", "time_limit", "iterations", "machines", "runs", "served",
        "within", "share_within", "share_violating", "excess", "overrun",
    ]  # fmt: skip
    means = [
        "length", "length_within", "vehicles", "cost_v", "gap", "gap_served",
        "seconds", "primal_integral", "wrap",
    ]  # fmt: skip
    halves = [f"{name}_half" for name in means]
    pairs = [name for both in zip(means, halves, strict=True) for name in both]
    writer.writerow([*names, "floor", "cost_v_floor", *pairs])
    for summary in found:
        row = [getattr(summary, name) for name in names]
        row[names.index("machines")] = "; ".join(summary.machines)
        row += [summary.floor, summary.cost_v_floor]
        for name in means:
            mean: Mean | None = getattr(summary, name)
            row += [None, None] if mean is None else [mean.value, mean.half]
        writer.writerow("" if value is None else value for value in row)
    return text.getvalue()


def _limit(summary: Summary) -> str:
    if summary.time_limit is not None:
        return f"{summary.time_limit:g} s"
    if summary.iterations is not None:
        return f"{summary.iterations:,} iterations"
    return "none"


def _digits(value: float, significant: int = 5) -> str:
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = significant - 1 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(6, max(0, decimals))}f}"


def _with_half(mean: Mean | None, decimals: int | None = None) -> str:
    if mean is None:
        return _NOTHING
    if decimals is None:
        said = _digits(mean.value)
        decimals = len(said.partition(".")[2])
    else:
        said = f"{round(mean.value, decimals) + 0.0:.{decimals}f}"  # no minus zero
    return said if mean.half is None else f"{said} ± {mean.half:.{decimals}f}"


def _violation(summary: Summary) -> str:
    if not summary.share_violating:
        return _NOTHING
    return f"{summary.share_violating:.1%} by {summary.excess:.2f}"


def _priced(
    value: Callable[[Summary], str],
) -> Callable[[Summary], str]:
    """Say nothing of Cost_v where a vehicle costs nothing."""
    return lambda summary: value(summary) if summary.floor else _NOTHING


_TEXTS = ("set", "method")
_COLUMNS: dict[str, Callable[[Summary], str]] = {
    "set": lambda s: s.set,
    "method": lambda s: s.method,
    "limit": _limit,
    "runs": lambda s: f"{s.runs:,}",
    "within the fleet": lambda s: f"{s.share_within:.1%}",
    "beyond it, by vehicles": _violation,
    "not served": lambda s: f"{s.runs - s.served:,}" if s.runs > s.served else _NOTHING,
    "length": lambda s: _with_half(s.length),
    "vehicles": lambda s: _with_half(s.vehicles, 3),
    "Cost_v": _priced(lambda s: _with_half(s.cost_v)),
    "its floor": _priced(lambda s: _digits(s.cost_v_floor or 0.0)),
    "gap %": lambda s: _with_half(s.gap, 3),
    "s an instance": lambda s: _digits(s.seconds.value, 3),
    "beyond the limit": lambda s: f"{s.overrun:.1%}" if s.overrun else _NOTHING,
    "primal integral": lambda s: _with_half(s.primal_integral, 2),
    "WRAP": lambda s: _with_half(s.wrap, 3),
}
