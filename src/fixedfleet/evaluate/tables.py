"""Summaries as tables: Markdown and LaTeX for people, CSV for programs."""

from __future__ import annotations

import csv
import io
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fixedfleet.evaluate.metrics import Mean, Summary
    from fixedfleet.evaluate.pairs import Pair

__all__ = [
    "NOTHING",
    "csv_table",
    "markdown_table",
    "pairs_to_markdown",
    "show_mean",
    "to_csv",
    "to_latex",
    "to_markdown",
]

NOTHING = "–"


def markdown_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], texts: Sequence[str] = ()
) -> str:
    """
    Return a Markdown table.

    Columns are aligned to the right, except those whose headings are in ``texts``. By
    default, only the first column is aligned to the left.
    """
    texts = texts or headings[:1]
    lines = [
        headings,
        ["---" if heading in texts else "---:" for heading in headings],
        *rows,
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def csv_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV; numbers are not rounded, and None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(headings)
    for row in rows:
        writer.writerow("" if value is None else value for value in row)
    return text.getvalue()


def show_mean(mean: Mean | None, decimals: int) -> str:
    """
    Return a mean as text, with ± half the width of its 95 % interval.

    ``decimals`` is the number of digits after the decimal point.
    """
    if mean is None:
        return NOTHING
    said = f"{round(mean.value, decimals) + 0.0:.{decimals}f}"  # no minus zero
    return said if mean.half is None else f"{said} ± {mean.half:.{decimals}f}"


def to_markdown(found: Sequence[Summary]) -> str:
    """
    Return summaries as a Markdown table, with 95 % intervals of the means.

    Columns that are empty for all summaries are left out.
    """
    headings, rows = _cells(found)
    return markdown_table(headings, rows, _TEXTS) if headings else ""


def _cells(found: Sequence[Summary]) -> tuple[list[str], list[tuple[str, ...]]]:
    """
    Return the headings and the rows of a table of summaries, without empty columns.

    A row has one text per heading.
    """
    columns = {
        heading: [cell(summary) for summary in found]
        for heading, cell in _COLUMNS.items()
    }
    shown = {h: cells for h, cells in columns.items() if {*cells} - {NOTHING}}
    return list(shown), list(zip(*shown.values(), strict=True))


def to_latex(found: Sequence[Summary]) -> str:
    """
    Return summaries as a LaTeX ``tabular``, with the columns of :func:`to_markdown`.

    The table needs the LaTeX package booktabs.
    """
    headings, rows = _cells(found)
    if not headings:
        return ""
    alignment = "".join("l" if heading in _TEXTS else "r" for heading in headings)
    head, *body = (
        " & ".join(cell.translate(_LATEX) for cell in cells) + " \\\\"
        for cells in (headings, *rows)
    )
    begin = [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule", head, "\\midrule"]
    return "\n".join([*begin, *body, "\\bottomrule", "\\end{tabular}", ""])


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {
        "±": "$\\pm$",
        "–": "--",
        "~": "\\textasciitilde{}",
        "^": "\\textasciicircum{}",
        "\\": "\\textbackslash{}",
    }
)


def pairs_to_markdown(pairs: Sequence[Pair]) -> str:
    """Return comparisons of two methods as a Markdown table."""
    headings = (
        "set", "method", "compared with", "limit", "instances", "difference %",
        "better", "equal", "worse",
    )  # fmt: skip
    rows = [
        (
            pair.set, pair.first, pair.second, _limit(pair),
            f"{pair.difference.count:,}", show_mean(pair.difference, 3),
            f"{pair.better:,}", f"{pair.equal:,}", f"{pair.worse:,}",
        )
        for pair in pairs
    ]  # fmt: skip
    return markdown_table(headings, rows, headings[:3])


def to_csv(found: Sequence[Summary], labels: Sequence[str] = ()) -> str:
    """
    Return summaries as CSV, one line per summary, with all numbers of a summary.

    If ``labels`` are given, one for each summary, they are the first column.
    """
    names = (
        "set", "method", "objective", "time_limit", "iterations", "machines", "runs",
        "served", "within", "share_within", "share_violating", "excess", "overrun",
        "floor", "cost_v_floor",
    )  # fmt: skip
    means = (
        "length", "vehicles", "cost_v", "gap", "seconds", "cpu_seconds",
        "calibration", "primal_integral", "wrap",
    )  # fmt: skip
    rows = []
    for summary in found:
        row = [getattr(summary, name) for name in names]
        row[names.index("machines")] = "; ".join(summary.machines)
        for name in means:
            mean: Mean | None = getattr(summary, name)
            row += [None, None] if mean is None else [mean.value, mean.half]
        rows.append(row)
    headings = [*names, *(name for mean in means for name in (mean, f"{mean}_half"))]
    if labels:
        headings.insert(0, "label")
        rows = [[label, *row] for label, row in zip(labels, rows, strict=True)]
    return csv_table(headings, rows)


def _limit(summary: Summary | Pair) -> str:
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


def _mean(mean: Mean | None) -> str:
    """
    Return a mean as text with five significant digits, and ± half of its 95 % interval.
    """
    if mean is None:
        return NOTHING
    return show_mean(mean, len(_digits(mean.value).partition(".")[2]))


def _violation(summary: Summary) -> str:
    if not summary.share_violating:
        return NOTHING
    return f"{summary.share_violating:.1%}, by {summary.excess:.2f} vehicles"


_TEXTS = ("set", "method", "minimises")
_COLUMNS: dict[str, Callable[[Summary], str]] = {
    "set": lambda s: s.set,
    "method": lambda s: s.method,
    "minimises": lambda s: "Cost_v" if s.objective == "cost-v" else NOTHING,
    "limit": _limit,
    "runs": lambda s: f"{s.runs:,}",
    "within the fleet": lambda s: f"{s.share_within:.1%}",
    "beyond the fleet": _violation,
    "not served": lambda s: f"{s.runs - s.served:,}" if s.runs > s.served else NOTHING,
    "length": lambda s: _mean(s.length),
    "vehicles": lambda s: show_mean(s.vehicles, 3),
    # If vehicles cost nothing, Cost_v equals the length.
    "Cost_v": lambda s: _mean(s.cost_v) if s.floor else NOTHING,
    "floor of Cost_v": lambda s: _digits(s.cost_v_floor or 0) if s.floor else NOTHING,
    "gap %": lambda s: show_mean(s.gap, 3),
    "seconds per instance": lambda s: _digits(s.seconds.value, 3),
    "processor seconds": lambda s: (
        _digits(s.cpu_seconds.value, 3)
        if s.cpu_seconds and s.clocks_differ
        else NOTHING
    ),
    "beyond the limit": lambda s: f"{s.overrun:.1%}" if s.overrun else NOTHING,
    "primal integral": lambda s: show_mean(s.primal_integral, 2),
    "WRAP": lambda s: show_mean(s.wrap, 3),
}
