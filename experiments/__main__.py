"""``python -m experiments NAME``: reproduce the paper's tables and figures."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import RESULTS, figures
from experiments.cells import Store, measured_cells
from experiments.collecting import collect, row_files
from experiments.definitions import Options, load_tables
from experiments.keeping import keep_rows
from experiments.pages import render_page
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.cells import Cell
    from experiments.definitions import Line, Table

__all__ = ["main", "make"]

NAMES = tuple(load_tables())


def main(argv: Sequence[str] | None = None) -> int:
    """
    Make the tables that the command line names.

    Return the exit code: 0, or 2 if a table could not be made.
    """
    given = vars(_parser().parse_args(argv))
    names, quiet, shown = (given.pop(key) for key in ("name", "quiet", "print"))
    collecting, rendering = not given.pop("render_only"), not given.pop("collect_only")
    if names == ["all"]:
        names = list(NAMES)
        if not collecting and given["work"] is None:
            names = _kept(names)
    given["work"] = given["work"] or (Options.work if collecting else RESULTS)
    code = 0
    for name in names:
        try:
            options = Options(**given, display=None if quiet else _say)
            written = make(name, options, collecting, rendering)
        except (InputError, MissingPackageError) as error:
            print(f"experiments: error: {name}: {error}", file=sys.stderr)
            code = 2  # the other tables are still made
            continue
        for path in written:
            if not shown:
                print(f"written: {path}")
            elif path.suffix == ".md":
                print(path.read_text(encoding="utf-8"))
    return code


def _kept(names: Sequence[str]) -> list[str]:
    """
    Return the names of the tables whose rows are kept in ``results/``.

    For each other table, print a line that says how to make its rows.
    """
    kept = [name for name in names if (RESULTS / f"rows-{name}.jsonl.xz").exists()]
    for name in names:
        if name not in kept:
            _say(f"{name}: no rows are kept, run `python -m experiments {name}`")
    return kept


def make(
    name: str, options: Options, collecting: bool = True, rendering: bool = True
) -> list[Path]:
    """
    Make one table: run the missing runs, then write its page, CSV and pictures.

    Parameters
    ----------
    name
        The name of the table, one of :data:`NAMES`.
    options
        The options of the command.
    collecting
        Whether to run methods whose rows are missing.
    rendering
        Whether to write the files.

    Returns
    -------
    list
        The files written.

    Raises
    ------
    InputError
        If there is no such table, or if there are no rows to render.
    """
    if name not in NAMES:
        raise InputError(f"no table {name!r}: choose from {', '.join(NAMES)}, or all")
    if not collecting and not rendering:
        raise InputError("--render-only and --collect-only leave nothing to do")
    table = load_tables()[name]
    if rendering:
        _check_smaller(table, options)
    reasons = collect(table, options) if collecting else {}
    return _render(table, reasons, options) if rendering else []


def _check_smaller(table: Table, options: Options) -> None:
    """Raise InputError if this would overwrite a page that has more instances."""
    page = options.out / f"{table.name}.csv"
    if options.instances is None or not page.exists():
        return
    with page.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    known = max((int(row["runs"]) for row in rows), default=0)
    if options.instances * (options.seeds or 1) < known:
        raise InputError(
            f"{page} is about {known:,} runs of a method, and this would be about "
            f"{options.instances:,} instances: choose another folder for --out"
        )


def _render(table: Table, reasons: dict[str, str], options: Options) -> list[Path]:
    """
    Write the page, the CSV and the pictures of a table from its existing rows.

    ``reasons`` say why a line of the table could not be run, by its label. Return the
    files.
    """
    stores = [Store(results) for results in row_files(table, options)]
    cells: list[Cell] = []
    missing: list[Line] = []
    for name in table.sets:
        measured, without = measured_cells(table, name, stores, options)
        cells += measured
        missing += without
    if not cells:
        raise InputError(f"no rows of {table.name} in {options.work}: collect them")
    shown = {cell.label for cell in cells}
    absent = dict.fromkeys(line.label for line in missing if line.label not in shown)
    notes = [f"left out: {label}: {reasons.get(label, 'no rows')}" for label in absent]
    page, numbers = render_page(table, cells, notes, options)
    drawn = figures.draw(table, cells, options)
    page += "".join(f"\n![{path.stem}]({path.name})\n" for path in drawn)
    options.out.mkdir(parents=True, exist_ok=True)
    paths = [options.out / f"{table.name}.{end}" for end in ("md", "csv")]
    for path, text in zip(paths, (page, numbers), strict=True):
        write_text(path, text)
    if options.work.resolve() != RESULTS:  # rows from there need not be kept again
        paths.append(keep_rows(table, cells, options))
    return [*paths, *drawn]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description="Make the paper's tables and figures again.",
        epilog=f"Tables: {', '.join(NAMES)}.",
    )
    usual = Options()
    add = parser.add_argument
    add("name", nargs="+", metavar="NAME", help="names of tables, or all")
    add(
        "--instances",
        type=int,
        help="at most this many instances of each set, from the front (default: as "
        "many as the table's page in results/ has)",
    )
    add("--seeds", type=int, help="seeds of each instance, from 0 on (default: 1)")
    add(
        "--out",
        type=Path,
        default=usual.out,
        help="folder for pages and pictures (default: %(default)s)",
    )
    add(
        "--work",
        type=Path,
        help=f"folder for rows (default: {usual.work}; with --render-only: results)",
    )
    add("--processes", type=int, help="worker processes (default: one per core)")
    add(
        "--reference",
        type=Path,
        default=usual.reference,
        help="rows of reference plans, for gaps (default: those in results/)",
    )
    add(
        "--render-only", action="store_true", help="run nothing, use the rows there are"
    )
    add(
        "--collect-only", action="store_true", help="run what is missing, write no page"
    )
    add("--print", action="store_true", help="print the pages, not the files")
    add("--quiet", action="store_true", help="show no progress")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
