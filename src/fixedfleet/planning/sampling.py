"""Sampling with a temperature: several plans drawn from the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fixedfleet.errors import InputError
from fixedfleet.planning.greedy import follow
from fixedfleet.planning.noise import gumbel, mix

if TYPE_CHECKING:
    from fixedfleet.planning.decoded import Decoded
    from fixedfleet.planning.problem import Problem

__all__ = ["SampleOptions", "sample"]


@dataclass(frozen=True)
class SampleOptions:
    """
    How plans are sampled.

    Parameters
    ----------
    samples
        Plans drawn an instance, of which the best is kept. The first is the greedy
        one.
    temperature
        Above 0; arcs are drawn with probability proportional to Ŷ^(1/temperature).
    """

    samples: int = 16
    temperature: float = 0.5

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise InputError(f"samples is {self.samples}, not 1 or more")
        if not 0 < self.temperature < float("inf"):
            raise InputError(f"temperature is {self.temperature:g}, not above 0")


def sample(problem: Problem, options: SampleOptions, seed: int) -> Decoded:
    """
    Draw plans: rows b · S … b · S + S − 1 of the result are those of instance b.

    The noise depends on seed, sample, vehicle and arc alone, so an instance gets the
    same plans in whatever batch it is. No arc's row is visited twice in one plan, so
    this is no different from drawing afresh at each step.

    Parameters
    ----------
    problem
        The instances, each row ``options.samples`` times over (``Problem.repeat``).
    options
        How many plans, how hot.
    seed
        The same seed gives the same plans.
    """
    number = torch.arange(problem.rows, device=problem.device) % options.samples
    target = torch.arange(problem.size, device=problem.device)

    def disturb(scores: Tensor, vehicle: Tensor, here: Tensor) -> Tensor:
        state = mix(mix(mix(number + seed) + vehicle) + here)
        noise = gumbel(mix(state[:, None] + target))  # (B, N')
        noise = noise.masked_fill((number == 0)[:, None], 0.0)
        return scores.double() / options.temperature + noise

    return follow(problem, problem.room, disturb)
