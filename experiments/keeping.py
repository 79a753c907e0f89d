"""The rows behind a page, kept compressed beside it, so that it can be made again."""

from __future__ import annotations

import lzma
from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.evaluate import Results
from fixedfleet.evaluate.rows import make_header
from fixedfleet.files.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from experiments.cells import Cell
    from experiments.definitions import Options, Table
    from fixedfleet.evaluate import Row

__all__ = ["keep_rows"]


def keep_rows(table: Table, cells: Sequence[Cell], options: Options) -> Path:
    """
    Write the rows of a table's cells to ``rows-NAME.jsonl.xz`` in the folder of pages.

    Unless the table keeps its plans, rows are kept without plans and traces, and with
    rounded numbers. Rows that another table keeps there are left out. The page is made
    again by ``python -m experiments NAME --render-only``.
    """
    path = options.out / f"rows-{table.name}.jsonl.xz"
    others = [other for other in options.out.glob("rows-*.jsonl.xz") if other != path]
    known = {row.key for other in others for row in Results(other).rows()}
    lines = dict.fromkeys(
        (row if table.keep_plans else _short(row)).to_json()
        for cell in cells
        for row in cell.source
        if row.key not in known
    )
    text = "\n".join([make_header(cells[0].machine), *lines, ""])
    with replacing(path) as file:
        file.write(lzma.compress(text.encode()))
    return path


def _short(row: Row) -> Row:
    return replace(
        row,
        length=None if row.length is None else round(row.length, 4),
        cost_v=None if row.cost_v is None else round(row.cost_v, 4),
        seconds=_rounded(row.seconds),
        details={name: _rounded(value) for name, value in row.details.items()},
        trace=(),
        tours=None,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")
