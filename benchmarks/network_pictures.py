"""Make the pictures of a prediction in docs/decoding.md from the shipped network.

    python benchmarks/network_pictures.py [--folder docs]

The script needs the extras `network` and `plot`. The network was not trained on the
instance. The page states the gap between its decoded plan and its searched plan.
"""

from __future__ import annotations

import argparse
import io
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import fixedfleet as ff
from fixedfleet.files.atomic import replacing
from fixedfleet.generate import uniform
from fixedfleet.plotting import plot_plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fixedfleet.planning import Prediction

ROOT = Path(__file__).parent.parent
# The colours of Okabe and Ito, in the order in which `plot_plan` gives them to tours.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
FAINTEST = 0.03  # less likely legs are not drawn
PIE = 230  # area of a customer's pie in square points


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    instance = uniform(20, 30, seed=42)[29]
    prediction = ff.predict(instance)
    probs, decoded = prediction.probabilities[0], prediction.decode()
    searched = alike(ff.solve(instance, 1.0).plan, decoded)
    decoders = {
        name: alike(prediction.decode(name, repair="room"), decoded)
        for name in ("greedy", "beam", "membership")
    }
    for name, figure in (
        ("prediction", draw_prediction(prediction)),
        ("legs", draw_legs(probs, decoded, instance)),
        ("members", draw_members(probs, instance)),
        ("decoders", draw_plans(decoders, instance)),
        ("plans", draw_plans({"decoded": decoded, "searched": searched}, instance)),
    ):
        save(figure, options.folder / f"network_{name}.png")


def alike(plan: ff.Plan, other: ff.Plan) -> ff.Plan:
    """
    Return the plan with its tours in the order that matches the other plan best.
    """

    def shared(tours: tuple[tuple[int, ...], ...]) -> int:
        pairs = zip(tours, other, strict=False)
        return sum(len({*mine} & {*theirs}) for mine, theirs in pairs)

    return ff.Plan(max(itertools.permutations(plan.tours), key=shared))


def draw_legs(
    probs: NDArray[np.floating], plan: ff.Plan, instance: ff.Instance
) -> Figure:
    """
    Draw each vehicle's probabilities Ŷ twice: as legs on a map, and as a matrix.

    The matrix has the customers in the order of the plan.
    """
    figure = Figure(figsize=(12, 6.2), layout="constrained")
    axes = figure.subplots(2, len(probs))
    order = [0, *itertools.chain(*plan)]
    ends = np.cumsum([1, *map(len, plan)])
    for k, colour in enumerate(COLOURS[: len(probs)]):
        draw_map(axes[0, k], instance, probs[k], colour)
        axes[0, k].set_title(f"vehicle {k + 1}", color=colour, fontweight="bold")
        ax = axes[1, k]
        image = ax.imshow(probs[k][np.ix_(order, order)], vmin=0, vmax=1, cmap="Greys")
        ax.set_xticks(range(len(order)), order, fontsize=6, rotation=90)
        ax.set_yticks(range(len(order)), order, fontsize=6)
        for end in ends[:-1]:
            ax.axhline(end - 0.5, color="#AAAAAA", linewidth=0.6)
            ax.axvline(end - 0.5, color="#AAAAAA", linewidth=0.6)
        ax.set_xlabel("to", fontsize=8)
    axes[1, 0].set_ylabel("from", fontsize=8)
    figure.colorbar(image, ax=axes[1, :], label="probability", shrink=0.9, pad=0.01)
    return figure


def draw_map(
    ax: Axes, instance: ff.Instance, probs: NDArray[np.floating], colour: str
) -> None:
    """
    Draw the legs of one vehicle. The likelier a leg is, the stronger its line.

    A line has the probability of both directions together.
    """
    points = instance.coordinates
    either = probs + probs.T
    for i, j in zip(*np.nonzero(np.triu(either, 1) > FAINTEST), strict=True):
        likely = min(1.0, float(either[i, j]))
        way = points[[i, j]].T
        ax.plot(*way, color=colour, linewidth=0.4 + 2.6 * likely, alpha=likely)
    ax.scatter(*points[1:].T, s=14, color="#444444", zorder=3)
    frame(ax, instance)


def draw_members(probs: NDArray[np.floating], instance: ff.Instance) -> Figure:
    """Draw each customer as a pie chart of the vehicles that probably serve it."""
    members = probs[:, 1:].sum(axis=2)  # (M, N)
    members = members / members.sum(axis=0)
    figure = Figure(figsize=(7.4, 6), layout="constrained")
    ax = figure.subplots()
    for point, shares in zip(instance.coordinates[1:], members.T, strict=True):
        draw_pie(ax, point, shares)
    number(ax, instance.coordinates)
    for k, colour in enumerate(COLOURS[: len(members)], 1):
        ax.scatter([], [], color=colour, s=120, label=f"vehicle {k}")
    frame(ax, instance)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return figure


def draw_pie(
    ax: Axes, point: NDArray[np.floating], shares: NDArray[np.floating]
) -> None:
    """Draw a pie chart from markers, so that it is round in axes of any scale."""
    edges = np.concatenate([[0], np.cumsum(shares)])
    for colour, begin, end in zip(COLOURS, edges, edges[1:], strict=False):
        angles = 2 * np.pi * (0.25 - np.linspace(begin, end, 2 + int(60 * end)))
        wedge = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        marker = np.concatenate([[[0, 0]], wedge])
        # Matplotlib scales each marker by its extent. This area undoes the scaling.
        area = PIE * np.abs(marker).max() ** 2
        ax.scatter(*point, marker=marker, s=area, color=colour, linewidths=0, zorder=3)


def number(ax: Axes, points: NDArray[np.floating]) -> None:
    """Write each customer's number beside it, away from the depot."""
    for customer, point in enumerate(points[1:], 1):
        outward = (point - points[0]) / np.hypot(*(point - points[0]))
        ax.annotate(
            str(customer),
            point,
            tuple(15 * outward),
            textcoords="offset points",
            ha="center",
            va="center",
            fontsize=9,
        )


def draw_prediction(prediction: Prediction) -> Figure:
    """Draw the probabilities Ŷ of all vehicles on one map, by ``Prediction.plot``."""
    figure = Figure(figsize=(7.4, 5.2), layout="constrained")
    prediction.plot(figure.subplots())
    return figure


def draw_plans(plans: dict[str, ff.Plan], instance: ff.Instance) -> Figure:
    """Draw plans for one instance beside each other."""
    figure = Figure(figsize=(1 + 5 * len(plans), 6.4), layout="constrained")
    panels = figure.subplots(1, len(plans))
    for ax, (name, plan) in zip(panels, plans.items(), strict=True):
        plot_plan(plan, instance, ax)
        ax.set_title(f"{name}: length {plan.length(instance):.3f}")
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.01)}
        ax.legend(**below, ncols=2, frameon=False, fontsize=8)
    return figure


def frame(ax: Axes, instance: ff.Instance) -> None:
    """Draw the depot, and a frame without numbers around the map."""
    depot = instance.coordinates[0]
    ax.scatter(*depot, marker="s", s=110, color="black", edgecolors="white", zorder=4)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.margins(0.08)
    ax.set_aspect("equal", adjustable="datalim")
    for spine in ax.spines.values():
        spine.set_color("#CCCCCC")


def save(figure: Figure, path: Path) -> None:
    """Save a figure in 256 colours, which makes the file a third as large."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=110)
    picture = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    with replacing(path) as file:
        picture.save(file, "png", optimize=True)
    print(f"{path}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
