"""The base class of all networks, and the registry of their names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from fixedfleet.errors import known_settings
from fixedfleet.model.features import MASKED, symmetry
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self


__all__ = ["NETWORKS", "Factors", "NoSettings", "PlanNetwork", "make_config"]

_STAYS = -10.0  # score of the edge (0, 0): the vehicle stays at the depot


class Factors(NamedTuple):
    """
    A prediction as two small tables, from which :meth:`edges` computes log Ŷ.

    Attributes
    ----------
    membership
        The log-probability that vehicle k serves customer i, shape (B, N, M).
    neighbours
        The log-probability that location j is next to customer i in a tour, shape
        (B, N, N').
    """

    membership: Tensor
    neighbours: Tensor

    def edges(self) -> Tensor:
        """
        Return log Ŷ, shape (B, M, N', N').

        Ŷ_kij is the probability that vehicle k serves location i, times the probability
        that location j is next to i. For the second factor, each j is weighted by the
        probability that k serves it.
        """
        serves = pad(self.membership.mT, (1, 0))  # (B, M, N'); 0 for the depot
        size = serves.shape[2]
        onward = pad(self.neighbours, (0, 0, 1, 0))  # (B, N', N')
        onward[:, 0, 1:] = self.neighbours[..., 0]
        onward[:, 0, 0] = _STAYS
        own = torch.eye(size, dtype=torch.bool, device=serves.device)
        own[0, 0] = False
        scores = (onward[:, None] + serves[:, :, None]).masked_fill(own, -torch.inf)
        return serves[..., None] + scores.log_softmax(3)

    def padded(self, customers: int, vehicles: int) -> Factors:
        """
        Return the tables with rows and columns of padding added.

        ``customers`` and ``vehicles`` are how many of each are added.
        """
        return Factors(
            pad(self.membership, (0, vehicles, 0, customers), value=MASKED),
            pad(self.neighbours, (0, customers, 0, customers), value=MASKED),
        )


@dataclass(frozen=True, kw_only=True)
class NoSettings:
    """The default for networks without settings: a dataclass without fields."""


class PlanNetwork(nn.Module):
    """
    A network that predicts whole plans in one forward pass.

    A network of your own is a subclass with ``__init__`` and ``forward``; everything
    else has a default. Register it with ``@NETWORKS.register("name")``, or name it as
    "module.py:Name".

    **Its input** is a padded :class:`fixedfleet.model.Features`. The masks ``nodes``
    and ``vehicles`` are true for what is not padding. Padding must not change a
    prediction.

    **Its prediction** is either log Ŷ, shape (B, M, N', N'), −inf where
    :func:`fixedfleet.model.allowed_edges` is false; or :class:`Factors`. Every decoder
    accepts both. ``forward`` may return something else if the loss needs it; then
    :meth:`read` must turn it into one of these.

    Parameters
    ----------
    config
        The settings, a frozen dataclass. They are saved in the file of the weights.

    Attributes
    ----------
    Config
        The dataclass of the settings. All its fields have defaults.
    default_loss
        Name of the loss that a training uses unless the user names another one; see
        :data:`fixedfleet.training.LOSSES`.
    factored
        Whether the network predicts :class:`Factors`, which take less memory to decode.
    """

    Config: ClassVar[type[Any]] = NoSettings
    default_loss: ClassVar[str] = "plan"
    factored: ClassVar[bool] = False

    def __init__(self, config: Any = None) -> None:
        super().__init__()
        self.config = self.Config() if config is None else config

    def read(self, output: Any) -> Tensor | Factors:
        """
        Return log Ŷ or :class:`Factors`, taken from the output of ``forward``.
        """
        found: Tensor | Factors = output
        return found

    def augment(self, coordinates: Tensor, codes: Tensor) -> Tensor:
        """
        Return the coordinates (B, N', 2), with each instance rotated or mirrored.

        The default applies one of the eight symmetries of the square.

        Parameters
        ----------
        coordinates
            Coordinates inside the unit square.
        codes
            A random whole number below 65,536 for each instance, shape (B,). It chooses
            the rotation or symmetry.
        """
        return symmetry(coordinates, codes)

    def required_bytes(self, size: int, nodes: int, vehicles: int) -> int:
        """
        Return an estimate of the peak memory of a prediction, in bytes.

        Large batches are split according to this estimate, and a prediction that does
        not fit into memory is refused. The default counts six tensors of the shape of
        Ŷ.

        Parameters
        ----------
        size, nodes, vehicles
            B, N' and M of the batch.
        """
        return 4 * 6 * size * vehicles * nodes**2

    def compile_parts(self) -> None:
        """Compile the network for training on a GPU, once for each batch shape."""
        self.compile(dynamic=False)

    def fuse(self, fused: bool = True) -> Self:
        """
        Switch the network's own GPU kernels on or off, and return the network.

        The base class has no such kernels and does nothing.
        """
        return self

    def reduce_weights(self) -> None:
        """
        Convert weights to bfloat16 for predictions on a CPU.

        The base class does nothing.
        """


NETWORKS: Registry[type[PlanNetwork]] = Registry(
    "network",
    {
        "edges": "fixedfleet.model.network:Network",
        "universal": "fixedfleet.model.universal:UniversalNetwork",
    },
)


def make_config(name: str, settings: Mapping[str, Any]) -> Any:
    """
    Return the settings of a registered network as its dataclass ``Config``.

    Fields that are missing in ``settings`` get their defaults.

    Raises
    ------
    InputError
        If there is no such network or setting, or if a value is wrong.
    """
    kind = NETWORKS.get_subclass(name, PlanNetwork)
    return kind.Config(**known_settings(kind.Config, "model", settings))
