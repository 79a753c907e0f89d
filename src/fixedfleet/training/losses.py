"""The base class of all losses, and the registry of their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from fixedfleet.errors import known_settings
from fixedfleet.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from fixedfleet.training.training_data import TrainingBatch

__all__ = ["LOSSES", "Loss", "make_loss"]


class Loss:
    """
    A loss with its settings; call it with a network's output and a batch of labels.

    To write a loss of your own, make a subclass that is a frozen dataclass and has
    :meth:`__call__`. The fields of the dataclass are the settings. Register the
    subclass with ``@LOSSES.register("name")``, or name it as "module.py:Name".

    Attributes
    ----------
    terms
        The names of the numbers that a call returns, ``total`` first.
    """

    terms: ClassVar[tuple[str, ...]] = ("total",)

    def __call__(self, output: Any, batch: TrainingBatch) -> dict[str, Tensor]:
        """
        Return the loss under the name ``total``, and its terms under their names.

        Each of these numbers is a mean over the batch.

        Parameters
        ----------
        output
            What the network's ``forward`` returned for ``batch.features``.
        batch
            The instances and their labels.
        """
        raise NotImplementedError


LOSSES: Registry[type[Loss]] = Registry(
    "loss",
    {
        "plan": "fixedfleet.training.plan_loss:PlanLoss",
        "membership": "fixedfleet.training.membership_loss:MembershipLoss",
    },
)


def make_loss(name: str, settings: Mapping[str, Any]) -> Loss:
    """
    Return the loss with this name and these settings.

    Settings that are left out have their defaults.

    Raises
    ------
    InputError
        If there is no such loss or setting, or if a value is wrong.
    """
    kind = LOSSES.get_subclass(name, Loss)
    return kind(**known_settings(kind, "loss", settings))
