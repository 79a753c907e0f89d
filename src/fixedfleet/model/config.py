"""The settings of a network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fixedfleet.errors import InputError, at_least, check_settings
from fixedfleet.model.normalise import NORMALISATIONS

__all__ = ["ModelConfig"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """
    The settings of a network. The defaults are the paper's for 20 and 50 customers.

    Parameters
    ----------
    width
        Channels of an embedding, the paper's d_m.
    hidden
        Hidden width of the fully connected layer.
    layers
        The number of pooling layers, L.
    pooling
        ``max``: leave-one-out max pooling with priming weights, as in the paper.
        ``attention``: attention over the other elements, with the priming as a bias.
    heads
        The number of attention heads; only ``attention`` uses it.
    shared
        Whether depot, customers and vehicles share the function f of a layer. They
        must share it with ``attention``.
    normalisation
        What sums to one: ``vehicle`` (as in the paper), ``row``, ``joint``,
        ``softassign``, or a normalisation of your own: a registered name or
        "module.py:Name".
    softassign_iterations
        The number of iterations of ``softassign``.
    numbering
        What distinguishes the vehicles. ``index``: 1/k and k, as in the paper.
        ``sweep``: k/M, M and the centre of their share of a sweep around the depot.
    polar
        Whether customers also have distance and direction from the depot as features.
    edge_features
        Whether distances and sums of demands enter the decoder.
    edge_heads
        Heads of the decoder's score of an edge that is the same for all vehicles; 0
        for no such score, as in the paper.
    membership
        Whether the decoder adds a score of vehicle and customer.
    decoder_width
        Channels of the edge–vehicle representation. Default: ``width``.

    Raises
    ------
    InputError
        If a setting is out of range or unknown.
    """

    width: Annotated[int, at_least(1)] = 256
    hidden: Annotated[int, at_least(1)] = 1024
    layers: Annotated[int, at_least(0)] = 8
    pooling: Literal["max", "attention"] = "max"
    heads: Annotated[int, at_least(1)] = 8
    shared: bool = True
    normalisation: str = "vehicle"
    softassign_iterations: Annotated[int, at_least(1)] = 10
    numbering: Literal["index", "sweep"] = "index"
    polar: bool = False
    edge_features: bool = False
    edge_heads: Annotated[int, at_least(0)] = 0
    membership: bool = False
    decoder_width: Annotated[int, at_least(1)] | None = None

    def __post_init__(self) -> None:
        check_settings(self, "model.")
        NORMALISATIONS.check(self.normalisation)
        for name in ("heads", "edge_heads"):
            heads = getattr(self, name)
            if heads and self.width % heads:
                raise InputError(
                    f"model.{name} is {heads}, which does not divide the width "
                    f"{self.width}"
                )
        if self.pooling == "attention" and not self.shared:
            raise InputError("model.shared is false, which needs pooling 'max'")
