"""The registry of decoders, and `decode`, which turns a prediction into plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import torch

from fixedfleet.errors import at_least, check_whole
from fixedfleet.model.devices import calm_threads
from fixedfleet.plan import PlanBatch
from fixedfleet.planning.beam import beam_tours
from fixedfleet.planning.repair import RepairOptions, repair_tours
from fixedfleet.planning.tours import make_plans
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor

    from fixedfleet.planning.prediction import Prediction
    from fixedfleet.planning.repair import RepairMethod

__all__ = ["DECODERS", "PlanDecoder", "decode", "get_decoder"]


# A decoder turns a prediction into tours, shape (B, M, N): the customers of each tour
# in visiting order, then zeros. Tours must not exceed the capacity, and must not serve
# a customer twice. They may leave customers unserved.
PlanDecoder = Callable[["Prediction"], "Tensor"]

DECODERS: Registry[PlanDecoder] = Registry(
    "decoder",
    {
        "greedy": "fixedfleet.planning.greedy:greedy_tours",
        "authors": "fixedfleet.planning.greedy:authors_tours",
        "edges": "fixedfleet.planning.edges:edge_tours",
        "membership": "fixedfleet.planning.membership:membership_tours",
        "beam": "fixedfleet.planning.beam:beam_tours",
    },
)


def get_decoder(decoder: str | PlanDecoder) -> PlanDecoder:
    """
    Return the decoder with this name; raise InputError if there is none.

    The name is ``greedy``, ``authors``, ``edges``, ``membership``, ``beam``, or
    ``beam200`` for a beam of width 200; a registered name; or "module.py:Name".
    Anything but a string is returned unchanged.
    """
    if isinstance(decoder, str) and decoder.startswith("beam"):
        width = decoder.removeprefix("beam")
        if width.isascii() and width.isdigit():
            return partial(
                beam_tours, width=check_whole("beam width", int(width), at_least(1))
            )
    return DECODERS.get(decoder)


@torch.no_grad()
def decode(
    prediction: Prediction,
    decoding: str | PlanDecoder = "membership",
    repair: RepairMethod | RepairOptions = "room",
) -> PlanBatch:
    """
    Return the plans that a decoder and a repair make from a prediction.

    The arguments are those of :meth:`Prediction.decode`. An instance gets the same plan
    alone as in a padded batch.
    """
    options = repair if isinstance(repair, RepairOptions) else RepairOptions(repair)
    make_tours = get_decoder(decoding)
    prediction.check_values()
    if len(prediction) == 0:
        return PlanBatch.from_plans([])
    with calm_threads(prediction.demands.device):
        return make_plans(repair_tours(prediction, make_tours(prediction), options))
