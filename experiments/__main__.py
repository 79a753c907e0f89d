"""``python -m experiments NAME``: make the paper's tables and figures again."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import RESULTS, figures, training_times
from experiments.cells import measured_cells, read_stores, reference_mean
from experiments.collecting import collect, load_set
from experiments.definitions import Options, load_tables
from experiments.keeping import keep_rows
from experiments.pages import render_page, trainings_part
from experiments.published import published
from experiments.trainings import train_missing
from fixedfleet.errors import InputError, MissingPackageError
from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from experiments.cells import Cell
    from experiments.definitions import Line, Table

__all__ = ["main", "make"]

_TABLES = load_tables(Options())
NAMES = (*_TABLES, training_times.NAME)
_FILES = (("rows-", ".xz"), ("", ""))  # of rows, and of the times of trainings


def main(argv: Sequence[str] | None = None) -> int:
    """Make tables; return 2 if one of them could not be made, else 0."""
    given = vars(_parser().parse_args(argv))
    names, quiet, shown = (given.pop(key) for key in ("name", "quiet", "print"))
    collecting, rendering = not given.pop("render_only"), not given.pop("collect_only")
    if names == ["all"]:
        names = list(NAMES)
        if not collecting and given["work"] is None:
            names = _kept(names)
    given["work"] = given["work"] or (Options.work if collecting else RESULTS)
    instances = given.pop("instances")
    code = 0
    for name in names:
        own = _TABLES[name].instances if name in _TABLES else Options.instances
        given["instances"] = own if instances is None else instances
        try:
            options = Options(**given, display=None if quiet else _say)
            written = make(name, options, collecting, rendering)
        except (InputError, MissingPackageError) as error:
            print(f"experiments: error: {name}: {error}", file=sys.stderr)
            code = 2  # the other tables are made all the same
            continue
        for path in written:
            if not shown:
                print(f"written: {path}")
            elif path.suffix == ".md":
                print(path.read_text(encoding="utf-8"))
    return code


def _kept(names: Sequence[str]) -> list[str]:
    """Return the tables whose rows are in ``results/``; name the others."""
    kept = [
        name
        for name in names
        if any((RESULTS / f"{stem}{name}.jsonl{end}").exists() for stem, end in _FILES)
    ]
    for name in names:
        if name not in kept:
            _say(f"{name}: no rows are kept, run `python -m experiments {name}`")
    return kept


def make(
    name: str, options: Options, collecting: bool = True, rendering: bool = True
) -> list[Path]:
    """
    Make one table: run what is missing, then write its page, CSV and pictures.

    Parameters
    ----------
    name
        One of :data:`NAMES`.
    options
        What is asked for.
    collecting
        Whether to run what is missing.
    rendering
        Whether to write files.

    Returns
    -------
    list
        The files written.

    Raises
    ------
    InputError
        If there is no such table, or nothing to render.
    """
    if name not in NAMES:
        raise InputError(f"no table {name!r}: choose from {', '.join(NAMES)}, or all")
    if not collecting and not rendering:
        raise InputError("--render-only and --collect-only leave nothing to do")
    if name == training_times.NAME:
        pages = training_times.render(options) if rendering else None
        return _write(options.out, name, *pages) if pages else []
    table = load_tables(options)[name]
    _check(table, options, rendering)
    notes, reasons = [], {}
    if collecting:
        notes = train_missing(table.trainings, options) if table.trainings else []
        reasons = collect(table, options)
    return _render(table, notes, reasons, options) if rendering else []


def _check(table: Table, options: Options, rendering: bool) -> None:
    """Raise InputError if the page could not be written after everything has run."""
    page = options.out / f"{table.name}.csv"
    if rendering and page.exists():
        with page.open(encoding="utf-8") as file:
            counts = [row.get("instances") for row in csv.DictReader(file)]
        known = max((int(count) for count in counts if count), default=0)
        if options.instances < known:
            raise InputError(
                f"{page} is about {known:,} instances, and this would be about "
                f"{options.instances:,}: choose another folder for --out"
            )
    if table.picture == "gaps":
        for name in table.sets:
            if not load_set(name, options.instances, options).reference:
                raise InputError(f"{options.reference} has no plans for {name}")


def _render(
    table: Table, notes: list[str], reasons: dict[str, str], options: Options
) -> list[Path]:
    """Write the page, the CSV and the pictures of a table from the rows there are."""
    stores = read_stores(options, table.name)
    cells: list[Cell] = []
    missing: list[Line] = []
    for name in table.sets:
        measured, without = measured_cells(table, name, stores, options)
        cells += measured
        missing += [line for line in without if line not in missing]
    if not cells:
        raise InputError(f"no rows of {table.name} in {options.work}: collect them")
    notes = notes + _left_out(table, missing, reasons)
    source = published(table.name)
    printed = [row for row in source.rows if row.set in table.sets] if source else []
    means = {name: reference_mean(table, name, stores) for name in table.sets}
    known = {name: mean for name, mean in means.items() if mean is not None}
    page, numbers = render_page(table, cells, printed, notes, options, known)
    if table.picture == "trainings":
        page += trainings_part(table, options)
    drawn = figures.draw(table, cells, options)
    page += "".join(f"\n![{path.stem}]({path.name})\n" for path in drawn)
    written = _write(options.out, table.name, page, numbers)
    if options.work.resolve() != RESULTS:  # its rows are kept already
        written.append(keep_rows(table, cells, options))
    return [*written, *drawn]


def _left_out(
    table: Table, missing: Sequence[Line], reasons: dict[str, str]
) -> list[str]:
    """Say which lines a page lacks, and why."""
    shown = {line.label for line in table.lines if line not in missing}
    trained = {line.training for line in table.lines if line not in missing}
    absent = {
        line.label: reasons.get(line.label, "no rows")
        for line in missing
        if line.label not in shown
        and (line.training is None or line.training in trained)
    }
    notes = [f"left out: {label}: {reason}" for label, reason in absent.items()]
    untrained = {line.training for line in missing} - trained
    return notes + [
        f"not trained: {training.preset}, {label} (`{training.command(Path('WORK'))}`)"
        for training, label in table.trainings.items()
        if training in untrained
    ]


def _write(folder: Path, name: str, page: str, numbers: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.md", folder / f"{name}.csv"]
    write_text(paths[0], page)
    write_text(paths[1], numbers)
    return paths


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
        help="instances of each set, from the front; slow methods take a share of them "
        "(default: as many as the table's page in results/ has)",
    )
    add(
        "--out",
        type=Path,
        default=usual.out,
        help="folder for pages and pictures (default: %(default)s)",
    )
    add(
        "--work",
        type=Path,
        help=f"folder for rows and trainings (default: {usual.work}; with "
        "--render-only: results)",
    )
    add("--processes", type=int, help="worker processes (default: one per core)")
    add("--seed", type=int, default=usual.seed, help="seed of methods and trainings")
    add("--device", choices=("cpu", "cuda"), help="where networks train and predict")
    add(
        "--reference",
        type=Path,
        default=usual.reference,
        help="rows of reference plans, for gaps (default: those in results/)",
    )
    add("--labels", type=Path, help="folder of labels, for tables that train networks")
    add("--epochs", type=int, help="epochs of each training (default: the preset's)")
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
