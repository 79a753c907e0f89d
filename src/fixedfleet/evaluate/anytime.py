"""Plot the quality of methods over their running time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fixedfleet.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fixedfleet.evaluate.metrics import Mean, Summary

__all__ = ["plot_anytime"]

# Okabe and Ito's colours, which colour-blind readers can distinguish. Markers
# distinguish methods in print without colour, and line styles those of one colour.
_COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000",
)  # fmt: skip
_MARKERS = "osD^v*P"
_STYLES = ("-", "--", ":")


def plot_anytime(found: Sequence[Summary], ax: Any) -> Any:
    """
    Draw the mean gap of each method over its mean wall time, and return the axes.

    The gap is the percentage by which a cost lies above the reference cost. Each method
    is a line with one point per limit; bars show 95 % intervals. If there are no
    reference plans, the mean length is drawn instead of the gap. ``ax`` are the Axes of
    matplotlib to draw on.

    Raises
    ------
    InputError
        If there is nothing to draw, or if the sets have no reference plans and their
        lengths cannot be compared.
    """
    gaps = any(summary.gap for summary in found)
    sets = list(dict.fromkeys(summary.set for summary in found))
    if not gaps and len(sets) > 1:
        raise InputError(
            f"the lengths of {', '.join(sets)} cannot be compared in one picture: give "
            "reference plans, or one set"
        )
    lines: dict[str, list[tuple[float, Mean]]] = {}
    for summary in found:
        value = summary.gap if gaps else summary.length
        if value is not None:
            label = f"{summary.method}, {summary.set}" if sets[1:] else summary.method
            if summary.objective == "cost-v":
                label += " (Cost_v)"
            lines.setdefault(label, []).append((summary.seconds.value, value))
    if not lines:
        raise InputError("nothing to draw: no method has a plan within the fleet")
    for number, (label, points) in enumerate(lines.items()):
        points.sort(key=lambda point: point[0])
        ax.errorbar(
            [seconds for seconds, _ in points],
            [mean.value for _, mean in points],
            yerr=[mean.half or 0.0 for _, mean in points],
            label=label,
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            linestyle=_STYLES[number // len(_COLOURS) % len(_STYLES)],
            capsize=2,
        )
    ax.set_xscale("log")
    ax.set_xlabel("wall time per instance, s")
    ax.set_ylabel("mean gap, %" if gaps else "mean length")
    if gaps and all(mean.value > 0 for line in lines.values() for _, mean in line):
        ax.set_yscale("log")
    ax.grid(visible=True, which="both", color="#DDDDDD", linewidth=0.5)
    ax.legend(fontsize=8)
    return ax
