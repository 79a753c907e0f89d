"""How far a training has come, and the learning rate that follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fixedfleet.training.presets import TrainConfig

__all__ = ["Budget"]


@dataclass(frozen=True)
class Budget:
    """
    Minutes of steps, or epochs.

    Parameters
    ----------
    config
        The epochs, and the learning rate's course.
    steps_per_epoch
        Steps an epoch has.
    minutes
        The budget in minutes of steps; None for the epochs of the settings.
    """

    config: TrainConfig
    steps_per_epoch: int
    minutes: float | None

    def progress(self, step: int, seconds: float) -> float:
        """Share of the budget that so many steps and seconds have used up."""
        if self.minutes is not None:
            return seconds / (60 * self.minutes)
        return step / (self.config.epochs * self.steps_per_epoch)

    def rate(self, step: int, seconds: float) -> float:
        """Learning rate of the step after so many steps and seconds."""
        rate = self.config.learning_rate
        if self.config.schedule == "cosine":
            progress = min(1.0, self.progress(step, seconds))
            rate *= 0.5 + 0.5 * math.cos(math.pi * progress)
        if step < self.config.warmup:
            rate *= (step + 1) / self.config.warmup
        return rate
