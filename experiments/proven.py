"""
``python -m experiments.proven``: print the page results/proven.md, from the kept rows.

It says how many plans of the test sets are proven optimal, how many of the near-optimal
reference plans are not optimal, and the gaps of methods to proven optima.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from experiments import RESULTS
from experiments.cells import Store, measured_cells
from experiments.collecting import load_set, row_files
from experiments.definitions import Options, load_tables
from fixedfleet.evaluate import Results
from fixedfleet.evaluate.metrics import summarise
from fixedfleet.evaluate.tables import NOTHING, markdown_table, show_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fixedfleet.evaluate import Row

__all__ = ["page"]

PROVEN = RESULTS / "rows-proven.jsonl.xz"
# The numbers of instances of the rejection-sampled test sets.
_SIZES = {"vrp20": 9646, "vrp50": 9525, "vrp100": 9772}
# A plan that is longer than a proven one by less than this share is as good.
_SAME = 1e-6
_BEGIN = """\
# Proven references

`results/rows-proven.jsonl.xz` has plans of the rejection-sampled test sets, each with a
lower bound, made by `packing+auto:prove=yes`. If fewer instances are computed than the
set has, they are its first ones. Gap: by how many per cent a plan that is not proven is
above its bound.

"""
_REFERENCE = """
## Near-optimal reference plans

The tables in results/ measure gaps to the plans of HGS-CVRP in
`results/rows-reference.jsonl.xz`. These are compared here with the proven plans of the
same instances. Add the mean excess to a gap to these plans, and you get the gap to
proven optima.

"""
_METHODS = """
## Gaps to proven optima

The methods of [Quality against time](anytime.md): mean percentage above proven optima,
and half of its 95 % interval. Instances without a proven optimum are left out; they are
harder than the others.
"""
_END = """
    python -m experiments.proven
"""


def page() -> str:
    """Return the page results/proven.md."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in Results(PROVEN).rows():
        rows[row.set].append(row)
    lengths = {
        row.instance: row.length
        for part in rows.values()
        for row in part
        if _is_proven(row) and row.length is not None
    }
    return (
        f"{_BEGIN}{_proofs(rows)}{_REFERENCE}{_references(lengths)}"
        f"{_METHODS}{_gaps(lengths)}{_END}"
    )


def _is_proven(row: Row) -> bool:
    """Return whether the plan of a row is proven; one without a bound is not."""
    return bool(row.details.get("is_optimal"))


def _proofs(rows: Mapping[str, Sequence[Row]]) -> str:
    """Return the table of how many plans are proven."""
    body = []
    for name, part in rows.items():
        gaps = [
            100 * (row.length / row.details["lower_bound"] - 1)
            for row in part
            if row.length is not None
            and not _is_proven(row)
            and "lower_bound" in row.details
        ]
        limits = sorted({row.time_limit or 0.0 for row in part})
        body.append(
            [
                name.upper(), f"{_SIZES[name]:,}", f"{len(part):,}",
                f"{sum(map(_is_proven, part)):,}",
                f"{sum(gaps) / len(gaps):.2f} %" if gaps else NOTHING,
                f"{max(gaps):.2f} %" if gaps else NOTHING,
                " or ".join(f"{limit:g} s" for limit in limits),
            ]
        )  # fmt: skip
    return markdown_table(
        ["set", "instances", "computed", "proven", "mean gap", "largest gap",
         "time limit"],
        body,
    )  # fmt: skip


def _references(lengths: Mapping[str, float]) -> str:
    """Return the table of how many near-optimal plans are not optimal."""
    ratios: dict[str, list[float]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for row in Results(RESULTS / "rows-reference.jsonl.xz").rows():
        counts[row.set] += 1
        if row.instance in lengths and row.length is not None:
            ratios[row.set].append(row.length / lengths[row.instance])
    body = [
        [
            name.upper(), f"{counts[name]:,}", f"{len(part):,}",
            f"{sum(ratio > 1 + _SAME for ratio in part):,}",
            f"{100 * (sum(part) / len(part) - 1):.4f} %",
            f"{100 * (max(part) - 1):.2f} %",
        ]
        for name, part in ratios.items()
    ]  # fmt: skip
    return markdown_table(
        ["set", "reference plans", "with a proven optimum", "not optimal",
         "mean excess", "largest excess"],
        body,
    )  # fmt: skip


def _gaps(lengths: Mapping[str, float]) -> str:
    """Return a table of gaps for each set whose instances are all proven."""
    table, options = load_tables()["anytime"], Options(work=RESULTS, reference=PROVEN)
    stores = [Store(results) for results in row_files(table, options)]
    text = ""
    for heading, (name,) in table.parts.items():
        if not any(one.startswith(f"test{name[3:]}/") for one in lengths):
            continue
        cells, _ = measured_cells(table, name, stores, options)
        measured = {row.instance for cell in cells for row in cell.rows}
        chosen = load_set(name, _SIZES[name], options)
        limits = sorted({cell.summary.time_limit or 0.0 for cell in cells})
        found: dict[str, dict[float, str]] = defaultdict(dict)
        for cell in cells:
            rows = [row for row in cell.rows if row.instance in lengths]
            limit = cell.summary.time_limit or 0.0
            found[cell.label][limit] = show_mean(summarise(rows, chosen).gap, 3)
        body = [
            [label, *(line.get(limit, NOTHING) for limit in limits)]
            for label, line in found.items()
        ]
        count = len(measured & set(lengths))
        text += f"\n{heading}, {count} of {len(measured)} instances:\n\n"
        text += markdown_table(["time limit", *(f"{x:g} s" for x in limits)], body)
    return text


if __name__ == "__main__":
    print(page(), end="")
