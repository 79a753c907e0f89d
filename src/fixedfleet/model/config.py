"""The settings of a network of the paper's design."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fixedfleet.errors import at_least, check_settings
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
    shared
        Whether depot, customers and vehicles share the function f of a layer.
    normalisation
        What sums to one: ``vehicle`` (as in the paper), ``row``, ``softassign``, or a
        normalisation of your own: a registered name or "module.py:Name".
    softassign_iterations
        The number of iterations of ``softassign``.

    Raises
    ------
    InputError
        If a setting is out of range or unknown.
    """

    width: Annotated[int, at_least(1)] = 256
    hidden: Annotated[int, at_least(1)] = 1024
    layers: Annotated[int, at_least(0)] = 8
    shared: bool = True
    normalisation: str = "vehicle"
    softassign_iterations: Annotated[int, at_least(1)] = 10

    def __post_init__(self) -> None:
        check_settings(self, "model.")
        NORMALISATIONS.check(self.normalisation)
