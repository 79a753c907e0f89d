"""What a table is made of: methods on sets, each within the paper's time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fixedfleet.errors import InputError, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "HALF",
    "LIMITS",
    "QUARTER",
    "TENTH",
    "Kind",
    "Line",
    "Options",
    "Table",
    "customers_of",
    "title_of",
]

Kind = Literal["ours", "control", "peer"]

# The paper's seconds an instance, by the number of customers.
LIMITS = {20: 0.05, 50: 0.16, 100: 0.84}

# Which share of the instances a line takes, by the number of customers: what keeps a
# table within an hour on two cores.
HALF: Mapping[int, float] = {100: 0.5}
QUARTER: Mapping[int, float] = {100: 0.25}
TENTH: Mapping[int, float] = {20: 0.1, 50: 0.1, 100: 0.1}


@dataclass(frozen=True, kw_only=True)
class Options:
    """
    What the user asked of a table; see :func:`fixedfleet.evaluate.reproduce.reproduce`.

    Raises
    ------
    InputError
        If a number makes no sense or a folder is not there.
    """

    instances: int = 1000
    out: Path = Path("results")
    work: Path = Path("runs/reproduce")
    processes: int | None = None
    seed: int = 0
    device: str | None = None
    attention_model: Path | None = None
    reference: Path | None = None
    labels: Path | None = None
    minutes: float | None = None
    epochs: int | None = None
    scale: float = 1.0
    display: Callable[[str], None] | None = None

    def __post_init__(self) -> None:
        check_whole("instances", self.instances, least=1)
        for name in ("processes", "epochs"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), least=1)
        if self.minutes is not None and self.epochs is not None:
            raise InputError("minutes and epochs are given: one of them is enough")
        for name in ("scale", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise InputError(f"{name} is {value!r}, not a number above 0")
        for name in ("reference", "labels"):
            folder = getattr(self, name)
            if folder is not None and not folder.is_dir():
                raise InputError(f"{name}: there is no folder {folder}")
        if self.attention_model is not None and not self.attention_model.exists():
            raise InputError(f"attention model: there is no {self.attention_model}")

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
    A method of a table.

    Parameters
    ----------
    label
        What the table calls it.
    method
        Its spec, as :func:`fixedfleet.evaluate.methods.get_method` takes it.
    kind
        ``ours``; ``control``: ours without the network or without the search; ``peer``.
    limit
        Seconds an instance instead of the paper's. A method that takes no limit takes
        the time it needs.
    shares
        Share of the instances it takes, by the number of customers; 1 if not there.
    sets
        The sets it is for. Default: all of the table.
    """

    label: str
    method: str
    kind: Kind = "ours"
    limit: float | None = None
    shares: Mapping[int, float] = field(default_factory=dict)
    sets: tuple[str, ...] | None = None

    def time_limit(self, name: str, scale: float = 1.0) -> float:
        """Seconds an instance of a set."""
        limit = LIMITS[customers_of(name)] if self.limit is None else self.limit
        return round(limit * scale, 6)

    def count(self, name: str, instances: int) -> int:
        """How many of a set's instances it takes, at least one."""
        share = self.shares.get(customers_of(name), 1.0)
        return max(1, math.ceil(round(share * instances, 6)))


@dataclass(frozen=True, kw_only=True)
class Table:
    """
    A table: sets, lines, and what is to be said below it.

    Parameters
    ----------
    name, title
        Its name and heading.
    sets
        The sets, one part of the table each.
    lines
        The methods, in the order they are shown.
    published
        Name of the paper's table beside it; None for none.
    notes
        What is said below.
    unit
        What a set's lengths are divided by, to be as the paper prints them.
    reference
        The line whose lengths the gaps of a set are to, for a set without reference
        plans. It need not be one of the table's.
    """

    name: str
    title: str
    sets: tuple[str, ...]
    lines: tuple[Line, ...]
    published: str | None = None
    notes: tuple[str, ...] = ()
    unit: Mapping[str, float] = field(default_factory=dict)
    reference: Mapping[str, Line] = field(default_factory=dict)

    def lines_of(self, name: str) -> list[Line]:
        """Lines of a set."""
        return [line for line in self.lines if line.sets is None or name in line.sets]


def customers_of(name: str) -> int:
    """Return the number of customers that a set's name ends with."""
    return int(name.lstrip("abcdefghijklmnopqrstuvwxyz"))


def title_of(name: str) -> str:
    """Return what a set is called in a heading."""
    size = customers_of(name)
    kinds = {
        "vrp": f"VRP{size}, rejection-sampled",
        "kool": f"VRP{size}, all test instances",
        "uchoa": f"Uchoa{size}",
    }
    return kinds[name.rstrip("0123456789")]
