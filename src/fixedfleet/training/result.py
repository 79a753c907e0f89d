"""What a training came to, or what ended it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.model.network import Network
    from fixedfleet.training.validation import Validation

__all__ = ["NonFiniteLossError", "TrainResult"]


class NonFiniteLossError(ArithmeticError):
    """The loss is no number any more; the message says since which step."""


@dataclass(frozen=True)
class TrainResult:
    """
    What a training came to.

    Attributes
    ----------
    network
        The network with its averaged weights, where there are such.
    steps, epochs
        Steps and whole epochs done.
    seconds
        Time spent in steps.
    epoch_seconds
        Time an epoch takes, by the mean of all steps.
    peak_bytes
        Most GPU memory in use at a time since the training began or was resumed; 0
        without a GPU.
    validation
        The last validation, or None if there was none.
    finished
        Whether the budget is used up; otherwise the training can be resumed.
    """

    network: Network
    steps: int
    epochs: int
    seconds: float
    epoch_seconds: float
    peak_bytes: int
    validation: Validation | None
    finished: bool
