"""The tables of ``tables.toml``, and what the user asked of them."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable  # noqa: TC003  # check_settings reads annotations
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from experiments import RESULTS
from experiments.kept_plans import with_kept_plans
from experiments.trainings import Training
from fixedfleet.errors import InputError, at_least, check_settings
from fixedfleet.evaluate import get_method

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fixedfleet.evaluate import Method
    from fixedfleet.evaluate.pipeline import Pipeline

__all__ = ["Line", "Options", "Table", "customers_of", "load_tables", "title_of"]

_FILE = Path(__file__).parent / "tables.toml"
_KEYS = (
    "title", "instances", "sets", "lines", "share", "picture", "limits",
    "variants", "trainings", "reference", "unit", "notes", "keep_plans",
    "vehicles",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Options:
    """
    The options of ``python -m experiments``, which explains them.

    Raises
    ------
    InputError
        If a number makes no sense, or a file or folder does not exist.
    """

    instances: Annotated[int, at_least(1)] = 1000
    out: Path = Path("build/experiments")
    work: Path = Path("runs/experiments")
    processes: Annotated[int | None, at_least(1)] = None
    seed: int = 0
    device: str | None = None
    reference: Path = RESULTS / "rows-reference.jsonl.xz"
    labels: Path | None = None
    epochs: Annotated[int | None, at_least(1)] = None
    display: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.reference.is_file():
            raise InputError(f"reference: there is no file {self.reference}")
        if self.labels is not None and not self.labels.is_dir():
            raise InputError(f"labels: there is no folder {self.labels}")

    @property
    def on_gpu(self) -> bool:
        """Whether networks run on a GPU."""
        return self.device is not None and self.device.startswith("cuda")

    def say(self, line: str) -> None:
        """Show a line of progress."""
        if self.display is not None:
            self.display(line)


@dataclass(frozen=True, kw_only=True)
class Line:
    """
    A method of a table; ``tables.toml`` explains the fields.

    ``training`` is the training whose network the line is about, if any.
    """

    label: str
    method: str
    gpu: Literal["", "bf16", "fp32"] = ""
    kind: Literal["ours", "control", "peer"] = "ours"
    limit: float | None = None
    share: str = ""
    most: int | None = None
    before: bool = False
    solved: bool | Literal["before"] = False
    sets: tuple[str, ...] | None = None
    training: Training | None = None

    @property
    def specs(self) -> tuple[str, ...]:
        """The specs under which its rows may have been made."""
        return (self._on_gpu(self.method), self.method) if self.gpu else (self.method,)

    def spec(self, options: Options) -> str:
        """Return the spec to run here."""
        return self.specs[0] if options.on_gpu else self.method

    def begins_with_kept(self, options: Options) -> bool:
        """Return whether it searches from the plans of a network on a GPU."""
        return bool(self.gpu) and "+" in self.method and options.on_gpu

    def build(self, options: Options) -> Method:
        """Return the method to run here."""
        method = get_method(self.spec(options))
        if self.begins_with_kept(options):
            kept = get_method(self._on_gpu(self._start)).name
            file = options.work / "rows.jsonl"
            return with_kept_plans(cast("Pipeline", method), kept, file)
        return method

    @property
    def _start(self) -> str:
        """The spec of the start alone, all of whose plans are complete."""
        head, _, options = self.method.partition(":")
        names = ("decoding", "repair", "model")
        own = [text for text in options.split(",") if text.startswith(names)]
        return f"{head.partition('+')[0]}:{','.join(['guarantee=yes', *own])}"

    def _on_gpu(self, spec: str) -> str:
        options = "device=cuda" + (",precision=fp32" if self.gpu == "fp32" else "")
        return f"{spec}{',' if ':' in spec else ':'}{options}"

    def count(self, name: str, options: Options) -> int:
        """Return how many of a set's instances it takes, at least one."""
        most = options.instances if self.most is None else self.most
        shares: dict[str, float] = _definitions()["shares"].get(self.share, {})
        share = shares.get(str(customers_of(name)), 1.0)
        return min(most, max(1, math.ceil(round(share * options.instances, 6))))


_LINE_KEYS = {field.name for field in fields(Line)} - {"training"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """
    A table: sets, lines, and what is said below it.

    Attributes
    ----------
    name, title
        Name and heading. The paper's figures have the same name, if it has any.
    instances
        How many instances of each set its page in ``results/`` is about.
    picture
        ``vehicles``: how many vehicles are used. ``gaps``: gaps by time. ``sizes``:
        gaps by the number of customers. ``trainings``: the losses of the networks,
        which the page then lists, too.
    sets
        The sets, one part of the table each.
    lines
        The methods, in the order they are shown.
    limits
        Time limits instead of the paper's, which depend on the set.
    trainings
        The trainings whose networks it compares, each with its label.
    notes
        What is said below.
    unit
        What a set's lengths are divided by, to be as the paper prints them.
    reference
        By set, the line that its gaps refer to, instead of the file of reference plans.
        It need not be one of the table's lines.
    keep_plans
        Whether the rows behind the page are kept with their plans.
    vehicles
        Whether the page has a column for the mean number of vehicles used.
    """

    name: str
    title: str
    instances: int = 1000
    picture: Literal["", "vehicles", "gaps", "sizes", "trainings"] = ""
    sets: tuple[str, ...]
    lines: tuple[Line, ...]
    limits: tuple[float, ...] = ()
    trainings: Mapping[Training, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unit: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, Line] = field(default_factory=dict)
    keep_plans: bool = False
    vehicles: bool = False

    def lines_of(self, name: str) -> list[Line]:
        """Return the lines of a set."""
        return [line for line in self.lines if line.sets is None or name in line.sets]

    def limits_of(self, line: Line, name: str) -> tuple[float, ...]:
        """Return the time limits of a line on a set, in seconds per instance."""
        paper = _definitions()["limits"][str(customers_of(name))]
        return self.limits or (paper if line.limit is None else line.limit,)


def load_tables(options: Options) -> dict[str, Table]:
    """Return all tables, with the networks of the working folder."""
    return {
        name: _table(name, raw, options)
        for name, raw in _definitions()["tables"].items()
    }


def _table(name: str, raw: dict[str, Any], options: Options) -> Table:
    _check_keys(f"table {name}", raw, _KEYS)
    trainings = {
        Training(name=key, **_definitions()["trainings"][key]): label
        for key, label in raw.get("trainings", {}).items()
    }
    lines = _network_lines(raw, trainings, options.work)
    for line in map(_line, raw["lines"]):
        lines.append(replace(line, share=raw.get("share", line.share)))
    reference = {key: _line(entry) for key, entry in raw.get("reference", {}).items()}
    # The table's share is not for the line that its gaps refer to.
    own = {line.label: line for line in reference.values()}
    return Table(
        name=name,
        title=raw["title"],
        instances=raw.get("instances", Table.instances),
        picture=raw.get("picture", ""),
        sets=tuple(raw["sets"]),
        lines=tuple(own.get(line.label, line) for line in lines),
        limits=tuple(raw.get("limits", ())),
        trainings=trainings,
        notes=tuple(raw.get("notes", ())),
        unit=raw.get("unit", {}),
        reference=reference,
        keep_plans=raw.get("keep_plans", False),
        vehicles=raw.get("vehicles", False),
    )


def _line(entry: str | dict[str, Any]) -> Line:
    """Return the line of a name, or one that a table defines itself."""
    raw = _definitions()["lines"][entry] if isinstance(entry, str) else entry
    _check_keys(f"line {entry}", raw, _LINE_KEYS)
    return Line(**raw | {"sets": tuple(raw["sets"]) if "sets" in raw else None})


def _network_lines(
    raw: dict[str, Any], trainings: Mapping[Training, str], work: Path
) -> list[Line]:
    """Return a line for each variant of the trained networks."""
    variants = _definitions()["variants"].get(raw.get("variants"), ())
    lines = []
    for training, label in trainings.items():
        for variant in variants:
            line = _line(variant)
            own = (x for x in raw["sets"] if customers_of(x) == training.customers)
            lines.append(
                replace(
                    line,
                    label=f"{training.preset}, {label}: {line.label}",
                    method=_with_model(line.method, training, work),
                    sets=tuple(own) if line.sets is None else line.sets,
                    training=training,
                )
            )
    return lines


def _with_model(method: str, training: Training, work: Path) -> str:
    """Return a method with the network of a training."""
    return f"{method}{',' if ':' in method else ':'}model={training.model(work)}"


def _check_keys(what: str, raw: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise InputError if a table or line of ``tables.toml`` has an unknown key."""
    if unknown := sorted(set(raw) - set(known)):
        raise InputError(f"{_FILE.name}: {what}: unknown key {unknown[0]!r}")


@cache
def _definitions() -> dict[str, Any]:
    with _FILE.open("rb") as file:
        return tomllib.load(file)


def customers_of(name: str) -> int:
    """Return the number of customers in a set's name: 20 in vrp20."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))


def title_of(name: str) -> str:
    """Return the heading of a set."""
    size = customers_of(name)
    kinds = {
        "vrp": f"VRP{size}, rejection-sampled",
        "strict": f"VRP{size}, rejection-sampled, Σq < MQ",
        "kool": f"VRP{size}, all test instances",
        "tight": f"VRP{size}, rejection-sampled, with ⌈Σq/Q⌉ vehicles",
        "uchoa": f"Uchoa{size}",
    }
    return kinds[name.rstrip("0123456789")]
