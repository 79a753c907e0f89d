"""The paper's ablations: losses, normalisation, post-processing, decoding."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fixedfleet.evaluate.reproduce.definitions import HALF, Line, Table
from fixedfleet.evaluate.reproduce.lines import (
    ALONE,
    CONTROLS,
    SEARCHED,
    after,
    attention_model,
    spec,
)
from fixedfleet.evaluate.reproduce.trainings import Training

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fixedfleet.evaluate.reproduce.definitions import Options

__all__ = [
    "LOSSES",
    "NORMALISATIONS",
    "decoding",
    "losses",
    "normalisation",
    "post_processing",
]

_LEFT = (
    "Lines with a search tell of the time that a network leaves it, too: on one core a "
    "network of the paper's size takes most of the limit, and what two runs of it take "
    "differs by more than their plans do. Compare networks by the lines without."
)
_PAPER = {"decoding": "greedy", "repair": "paper"}
_SOFTASSIGN = {"model.normalisation": "softassign"}

LOSSES = tuple(
    Training(f"{preset}, {label}", preset, change, settings)
    for preset in ("paper20", "best20")
    for label, change, settings in (
        ("plain", "plain", {"loss.loads": "none"}),
        ("penalty", "penalty", {"loss.load_weight": 0.0}),
        ("penalty and load", "", {}),
    )
)

NORMALISATIONS = tuple(
    Training(f"{kind}{size}, {label}", f"{kind}{size}", change, settings)
    for size in (20, 50)
    for kind, softmax in (("paper", "softmax of a vehicle"), ("best", "joint softmax"))
    for label, change, settings in (
        ("SoftAssign", "softassign", _SOFTASSIGN),
        (softmax, "", {}),
    )
)


def losses(options: Options) -> Table:
    """Table 4 beside Figure 3: what the terms of the loss are worth."""
    return Table(
        name="losses",
        title="Terms of the loss",
        sets=("vrp20",),
        lines=(*_trained(LOSSES, options), *CONTROLS),
        published="losses",
        notes=(
            "Plain: the assignment loss alone. Penalty: with the term for loads above "
            "the capacity. Penalty and load: with the term for the load of each tour "
            "as well, as the presets have it.",
            "The preset `paper20` counts loads on the pseudo-greedy plan. They have no "
            "gradient, and the penalty is the same whichever tour a vehicle is "
            "matched with: there the penalty alone changes the loss, but not what is "
            "learnt. In `best20` loads are expected ones, which have a gradient; its "
            "term for customers that share a tour is in all three.",
            "The paper prints no weights of its terms; these are the presets' own.",
            _LEFT,
            *_untrained(LOSSES, options),
        ),
    )


def normalisation(options: Options) -> Table:
    """Table 5: SoftAssign against softmax."""
    return Table(
        name="normalisation",
        title="SoftAssign against softmax",
        sets=("vrp20", "vrp50"),
        lines=(*_trained(NORMALISATIONS, options), *CONTROLS),
        published="normalisation",
        notes=(_LEFT, *_untrained(NORMALISATIONS, options)),
    )


def post_processing(options: Options) -> Table:
    """Table 8: what a search after the network, or the Attention Model, adds."""
    (greedy,) = attention_model(options, sampling=False)
    start = spec("am-greedy", weights=options.attention_model)
    return Table(
        name="post-processing",
        title="With and without post-processing",
        sets=("vrp20", "vrp50", "vrp100"),
        lines=(
            ALONE,
            SEARCHED,
            after("network", "ortools", "network + OR-Tools, the paper's step"),
            greedy,
            after(start, "auto", "AM, greedy + search", "peer"),
            after(start, "ortools", "AM, greedy + OR-Tools", "peer"),
            *CONTROLS,
            after("savings", "ortools", "savings + OR-Tools", "control"),
            Line(
                label="OR-Tools from nothing",
                method="ortools",
                kind="control",
                shares=HALF,
            ),
        ),
        published="post-processing",
        notes=(
            "A search keeps the fleet as a bound: tours of the Attention Model beyond "
            "it are dissolved before it begins.",
        ),
    )


def decoding(options: Options) -> Table:
    """Table 9: how tours are read off the prediction."""
    softassign = [t for t in NORMALISATIONS if t.settings and t.customers == 20]
    models = _models(softassign, options)
    return Table(
        name="decoding",
        title="Decoding",
        sets=("vrp20",),
        lines=(
            *_decoded("shipped network", None),
            *(
                line
                for training, model in models.items()
                for line in _decoded(training.label, model)
            ),
            *CONTROLS,
        ),
        published="decoding",
        notes=(
            "Not repaired: customers whom the decoding leaves out stay so, and the "
            "instance counts as not solved.",
            _LEFT,
            *_untrained(softassign, options),
        ),
    )


def _models(trainings: Iterable[Training], options: Options) -> dict[Training, str]:
    """Networks that were trained, as a method's option names them."""
    paths = {training: training.model(options.work) for training in trainings}
    return {training: str(path) for training, path in paths.items() if path is not None}


def _untrained(trainings: Iterable[Training], options: Options) -> list[str]:
    """What to say of networks that were not."""
    return [
        f"not trained: {training.label} (`{training.command(Path('WORK'))}`)"
        for training in trainings
        if training.model(options.work) is None
    ]


def _trained(trainings: Iterable[Training], options: Options) -> list[Line]:
    """Each network raw, with the paper's step and with our search."""
    lines = []
    for training, model in _models(trainings, options).items():
        for label, name, choices in (
            ("greedy, the paper's repair", "network", _PAPER),
            ("membership, repaired", "network", {}),
            (
                "greedy, the paper's repair + OR-Tools, guaranteed",
                "network+ortools",
                {**_PAPER, "guarantee": "yes"},
            ),
            ("membership + search, guaranteed", "network+auto", {"guarantee": "yes"}),
        ):
            lines.append(
                Line(
                    label=f"{training.label}: {label}",
                    method=spec(name, **choices, model=model),
                    kind="ours" if "+" in name else "control",
                    sets=(f"vrp{training.customers}",),
                )
            )
    return lines


def _decoded(label: str, model: str | None) -> list[Line]:
    """A network under every decoding, with and without search."""
    lines = []
    for words, choices in (
        ("beam 20, not repaired", {"decoding": "beam20", "repair": "none"}),
        ("beam 200, not repaired", {"decoding": "beam200", "repair": "none"}),
        ("beam 20, repaired", {"decoding": "beam20"}),
        ("beam 200, repaired", {"decoding": "beam200"}),
        ("greedy, the paper's repair", {"decoding": "greedy", "repair": "paper"}),
        ("greedy, repaired", {"decoding": "greedy"}),
        ("membership, repaired", {}),
    ):
        for start, suffix in (("network", ""), ("network+auto", " + search")):
            if not suffix or "not repaired" not in words:
                lines.append(
                    Line(
                        label=f"{label}: {words}{suffix}",
                        method=spec(start, **choices, model=model),
                        kind="ours" if suffix else "control",
                    )
                )
    return lines
