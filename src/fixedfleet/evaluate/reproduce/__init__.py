"""The paper's tables and figures, made again: collect rows, then render."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.errors import InputError
from fixedfleet.evaluate.published import published
from fixedfleet.evaluate.reproduce import (
    ablations,
    main_tables,
    other_sets,
    pictures,
    training_times,
)
from fixedfleet.evaluate.reproduce.cells import Stock, published_cells
from fixedfleet.evaluate.reproduce.collecting import all_rows, collect
from fixedfleet.evaluate.reproduce.definitions import Options, Table
from fixedfleet.evaluate.reproduce.rendering import render_csv, render_markdown
from fixedfleet.evaluate.reproduce.trainings import train_missing
from fixedfleet.files.atomic import write_text

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from fixedfleet.evaluate.reproduce.cells import Cell
    from fixedfleet.evaluate.reproduce.trainings import Training

__all__ = ["NAMES", "reproduce"]


@dataclass(frozen=True)
class _Experiment:
    """What makes a table, and the trainings it compares."""

    table: Callable[[Options], Table]
    trainings: tuple[Training, ...] = ()


_EXPERIMENTS = {
    "fixed-costs": _Experiment(main_tables.fixed_costs),
    "benchmark": _Experiment(main_tables.benchmark),
    "losses": _Experiment(ablations.losses, ablations.LOSSES),
    "normalisation": _Experiment(ablations.normalisation, ablations.NORMALISATIONS),
    "generalisation": _Experiment(other_sets.generalisation),
    "targets": _Experiment(main_tables.targets),
    "post-processing": _Experiment(ablations.post_processing),
    "decoding": _Experiment(ablations.decoding),
    "uchoa": _Experiment(other_sets.uchoa),
    "fleet-sizes": _Experiment(main_tables.fleet_sizes),
}

NAMES = (*_EXPERIMENTS, training_times.NAME)


def reproduce(
    name: str,
    *,
    instances: int = 1000,
    out: str | os.PathLike[str] = "results",
    work: str | os.PathLike[str] = "runs/reproduce",
    processes: int | None = None,
    seed: int = 0,
    device: str | None = None,
    attention_model: str | os.PathLike[str] | None = None,
    reference: str | os.PathLike[str] | None = None,
    labels: str | os.PathLike[str] | None = None,
    minutes: float | None = None,
    epochs: int | None = None,
    scale: float = 1.0,
    render_only: bool = False,
    collect_only: bool = False,
    display: Callable[[str], None] | None = None,
) -> list[Path]:
    """
    Make one of the paper's tables or figures again.

    Rows that are missing are added to ``work/rows.jsonl``, which all tables share;
    then ``out/NAME.md``, ``out/NAME.csv`` and pictures are written from it. Rows made
    on other machines are taken in from ``work/rows-….jsonl``; ``work/versions.jsonl``,
    copied as ``versions-….jsonl``, says what they were made with.

    Parameters
    ----------
    name
        One of :data:`NAMES`.
    instances
        How many instances of each set, from the front. Slow methods take a share.
    out, work
        Folders for the results, and for rows and trainings.
    processes
        Instances at the same time, a core each. Default: as many as there are cores.
    seed
        Seed of the methods and the trainings.
    device
        Where to train, and where the Attention Model runs: ``cpu``, ``cuda``, ….
    attention_model
        Folder with the Attention Model's weights, if it is to be run.
    reference
        Folder with reference plans, for gaps.
    labels
        Folder with labels ``vrp20_….npz``, … for the tables that train networks.
        Finished trainings in ``work/trainings`` are not repeated.
    minutes, epochs
        Budget of each training, one of them. Default: the preset's epochs.
    scale
        Factor on all time limits.
    render_only
        Run nothing; render what is in the store.
    collect_only
        Run what is missing; render nothing.
    display
        Takes lines of progress.

    Returns
    -------
    list
        The files written.

    Raises
    ------
    InputError
        If there is no such table, an argument is wrong, or there is nothing to render.
    """
    if name not in NAMES:
        raise InputError(f"no table {name!r}: choose from {', '.join(NAMES)}")
    if render_only and collect_only:
        raise InputError("render_only and collect_only leave nothing to do")
    options = Options(
        instances=instances,
        out=Path(out),
        work=Path(work),
        processes=processes,
        seed=seed,
        device=device,
        attention_model=None if attention_model is None else Path(attention_model),
        reference=None if reference is None else Path(reference),
        labels=None if labels is None else Path(labels),
        minutes=minutes,
        epochs=epochs,
        scale=scale,
        display=display,
    )
    if name == training_times.NAME:
        return _training_times(options, render_only, collect_only)
    experiment = _EXPERIMENTS[name]
    notes, reasons = ([], {}) if render_only else _collect(experiment, options)
    return [] if collect_only else _render(experiment, notes, reasons, options)


def _collect(
    experiment: _Experiment, options: Options
) -> tuple[list[str], dict[str, str]]:
    """Train and run what is missing; return notes, and why lines cannot run here."""
    notes = train_missing(experiment.trainings, options)
    return notes, collect(experiment.table(options), options)


def _render(
    experiment: _Experiment,
    notes: list[str],
    reasons: dict[str, str],
    options: Options,
) -> list[Path]:
    """Write the pages and pictures of a table from what the store has."""
    table = experiment.table(options)
    cells, missing = _cells(table, options)
    notes = notes + [
        f"left out: {label}: {reasons.get(label, 'no rows in the store')}"
        for label in missing
    ]
    if table.name == "fleet-sizes":
        page, numbers = pictures.sizes_pages(table, cells, notes, options)
    else:
        page = render_markdown(table, cells, notes, options)
        numbers = render_csv(table, cells, options)
    if experiment.trainings:
        beside = published("losses").rows if table.name == "losses" else ()
        page += "\n" + pictures.curves_text(experiment.trainings, options, beside)
    drawn = _draw(experiment, table, cells, options)
    page += "".join(f"\n![{path.stem}]({path.name})\n" for path in drawn)
    return [*_write(options.out, table.name, page, numbers), *drawn]


def _draw(
    experiment: _Experiment, table: Table, cells: list[Cell], options: Options
) -> list[Path]:
    """Draw the pictures of a table that has any."""
    sizes = table.name == "fleet-sizes"
    if not (sizes or experiment.trainings) or not pictures.may_draw(options):
        return []
    options.out.mkdir(parents=True, exist_ok=True)
    if experiment.trainings:
        return pictures.draw_trainings(
            options.out, table.name, experiment.trainings, options
        )
    path = options.out / f"{table.name}.png"
    pictures.draw_sizes(path, cells)
    return [path]


def _cells(table: Table, options: Options) -> tuple[list[Cell], list[str]]:
    """Cells of all sets, and labels of lines that no set has rows of."""
    stock = Stock(all_rows(options), options)
    cells: list[Cell] = []
    missing: list[str] = []
    for name in table.sets:
        measured, without = stock.cells(table, name)
        cells += [*published_cells(table, name), *measured]
        missing += without
    if not any(cell.summary for cell in cells):
        raise InputError(
            f"no rows of {table.name} in {options.work}: collect them first"
        )
    return cells, list(dict.fromkeys(missing))


def _training_times(
    options: Options, render_only: bool, collect_only: bool
) -> list[Path]:
    if not render_only:
        training_times.measure(options)
    if collect_only:
        return []
    page, numbers = training_times.render(options)
    return _write(options.out, training_times.NAME, page, numbers)


def _write(folder: Path, name: str, page: str, numbers: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.md", folder / f"{name}.csv"]
    write_text(paths[0], page)
    write_text(paths[1], numbers)
    return paths
