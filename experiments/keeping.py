"""Keep the rows of a page in a compressed file, to make the page again from them."""

from __future__ import annotations

import lzma
from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.collecting import read_rows
from fixedfleet.evaluate import Results
from fixedfleet.evaluate.rows import make_header
from fixedfleet.files.atomic import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from experiments.cells import Cell
    from experiments.definitions import Options, Table
    from fixedfleet.evaluate import Row

__all__ = ["keep_rows", "rounded"]


def keep_rows(table: Table, cells: Sequence[Cell], options: Options) -> Path:
    """
    Write the rows of a table's cells to ``rows-NAME.jsonl.xz``; return the file.

    The file is in the folder of pages. ``python -m experiments NAME --render-only``
    makes the page again from it. Plans and traces are only written if the table has
    ``keep_plans``. A row is left out if the file of another table in this folder has
    the same row, with the plan that this table would keep.
    """
    path = options.out / f"rows-{table.name}.jsonl.xz"
    rows = [row for cell in cells for row in cell.source]
    lines = {
        (short := _without_plan(row)): row.to_json() if table.keep_plans else short
        for row in rows
    }
    if not table.by_version:
        for other in options.out.glob("rows-*.jsonl.xz"):
            if other != path and "by-version" not in other.name:
                for row in read_rows(Results(other)):
                    short = _without_plan(row)
                    if row.tours is not None or lines.get(short) == short:
                        lines.pop(short, None)
    machines = {row.machine for row in rows}
    machine = machines.pop() if len(machines) == 1 else "several, see the rows"
    text = "\n".join([make_header(machine), *lines.values(), ""])
    with replacing(path) as file:
        file.write(lzma.compress(text.encode()))
    return path


def _without_plan(row: Row) -> str:
    return replace(row, trace=(), tours=None).to_json()


def rounded(row: Row) -> Row:
    """
    Return a row whose numbers are rounded as in kept rows.

    So a page is the same whether it is made from new rows or from kept rows.
    """
    return replace(
        row,
        length=None if row.length is None else _digits(row.length, 9),
        cost_v=None if row.cost_v is None else _digits(row.cost_v, 9),
        seconds=_digits(row.seconds, 3),
        cpu_seconds=None if row.cpu_seconds is None else _digits(row.cpu_seconds, 3),
        details={
            name: _digits(value, 9 if name == "start_length" else 3)
            for name, value in row.details.items()
        },
    )


def _digits(value: float, count: int) -> float:
    return float(f"{value:.{count}g}")
