"""Beyond the set a network was trained on: other sizes, and Uchoa's instances."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fixedfleet.evaluate.reproduce.definitions import HALF, QUARTER, Line, Table
from fixedfleet.evaluate.reproduce.lines import CONTROLS, PEERS, spec

if TYPE_CHECKING:
    from fixedfleet.evaluate.reproduce.definitions import Kind, Options

__all__ = ["generalisation", "uchoa"]

_UCHOA = (
    "The instances of Uchoa100 are not the published ones, but drawn by the same "
    "process, the fleet being the smallest that a quick packing needs: published "
    "figures show the order of magnitude, not a difference."
)

_REFERENCE = Line(
    label="HGS-CVRP, 5 s: the reference",
    method="hgs",
    kind="peer",
    limit=5.0,
    shares=QUARTER,
)


def generalisation(_options: Options) -> Table:
    """Table 6: each network on the sets of the others."""
    sets = ("vrp20", "vrp50", "vrp100", "uchoa100")
    return Table(
        name="generalisation",
        title="Networks on sets they were not trained for",
        sets=sets,
        lines=(
            *(
                line
                for size in (20, 50, 100)
                for search in ("", "+auto")
                for line in _trained_on(size, search, sets)
            ),
            *(replace(line, shares=HALF) for line in CONTROLS),
        ),
        published="generalisation",
        notes=(
            f"{_UCHOA} Its lengths are divided by 1,000, the side of the square, as "
            "in the paper, and a vehicle costs 80 in that unit. Its gaps are to the "
            "5 s of HGS-CVRP that the table `uchoa` collects.",
        ),
        unit={"uchoa100": 1000.0},
        reference={"uchoa100": _REFERENCE},
    )


def uchoa(_options: Options) -> Table:
    """Table 12: instances as Uchoa et al. drew them, against DPDP and LKH."""
    return Table(
        name="uchoa",
        title="Instances drawn as Uchoa et al. (2017) describe",
        sets=("uchoa100",),
        lines=(
            Line(
                label="network of VRP50 + search",
                method="network+auto:model=vrp50",
                shares=HALF,
            ),
            Line(
                label="network of VRP100 + search",
                method="network+auto:model=vrp100",
                shares=HALF,
            ),
            Line(
                label="network of VRP50 alone",
                method="network:model=vrp50",
                kind="control",
                shares=HALF,
            ),
            *(replace(line, shares=HALF) for line in (*CONTROLS, *PEERS)),
            _REFERENCE,
        ),
        published="uchoa",
        notes=(
            _UCHOA,
            "Lengths are for a square of side 1,000, in which a vehicle costs 80,000.",
            "Gaps are to the 5 s of HGS-CVRP, on the same instances.",
        ),
        reference={"uchoa100": _REFERENCE},
    )


def _trained_on(size: int, search: str, sets: tuple[str, ...]) -> list[Line]:
    """A network on all sets; on its own it is the default, and shares its rows."""
    label = f"trained on VRP{size}" + (" + search" if search else ", alone")
    kind: Kind = "ours" if search else "control"
    own = f"vrp{size}"
    others = tuple(name for name in sets if name != own)
    named = spec(f"network{search}", model=own)
    return [
        Line(label=label, method=method, kind=kind, sets=where, shares=HALF)
        for method, where in ((f"network{search}", (own,)), (named, others))
    ]
