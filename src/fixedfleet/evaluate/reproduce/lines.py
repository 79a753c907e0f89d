"""Lines that several tables share, so that they share their rows too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fixedfleet.evaluate.reproduce.definitions import HALF, QUARTER, TENTH, Line

if TYPE_CHECKING:
    from fixedfleet.evaluate.reproduce.definitions import Kind, Options

__all__ = [
    "ALONE",
    "CONTROLS",
    "GUARANTEED",
    "PEERS",
    "SEARCHED",
    "after",
    "attention_model",
    "spec",
]

SEARCHED = Line(label="network + search", method="network+auto")
GUARANTEED = Line(
    label="network + search, guaranteed",
    method="network+auto:guarantee=yes",
    shares=QUARTER,
)
ALONE = Line(label="network alone", method="network", kind="control")

# The same search in the same time without the network.
CONTROLS = (
    Line(label="packing + search", method="packing+auto", kind="control"),
    Line(
        label="savings + search", method="savings+auto", kind="control", shares=QUARTER
    ),
)

PEERS = (
    Line(label="HGS-CVRP", method="hgs", kind="peer", shares=QUARTER),
    Line(label="PyVRP", method="pyvrp", kind="peer", shares=QUARTER),
    Line(label="VROOM", method="vroom", kind="peer", shares=QUARTER),
    Line(label="OR-Tools", method="ortools", kind="peer", shares=QUARTER),
)


def attention_model(options: Options, *, sampling: bool = True) -> tuple[Line, ...]:
    """Lines of the Attention Model, in batches; sampling is slow without a GPU."""
    on_gpu = options.on_gpu
    where = "cuda" if on_gpu else None
    weights = options.attention_model
    greedy = Line(
        label="AM, greedy, in batches",
        method=spec(
            "am-greedy", weights=weights, device=where, batch=None if on_gpu else 100
        ),
        kind="peer",
    )
    sampled = Line(
        label="AM, 1,280 samples, in batches",
        method=spec(
            "am-sampling", weights=weights, device=where, batch=None if on_gpu else 10
        ),
        kind="peer",
        shares={} if on_gpu else TENTH,
    )
    return (greedy, sampled) if sampling else (greedy,)


def after(start: str, search: str, label: str, kind: Kind = "ours") -> Line:
    """Return the line of a search after a start, within the same time."""
    name, colon, choices = start.partition(":")
    return Line(
        label=label, method=f"{name}+{search}{colon}{choices}", kind=kind, shares=HALF
    )


def spec(name: str, **choices: object) -> str:
    """Return a method's spec with the options that are not None."""
    given = [f"{key}={value}" for key, value in choices.items() if value is not None]
    return f"{name}:{','.join(given)}" if given else name
