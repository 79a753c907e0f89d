"""Beam search over the arcs of the prediction, after Kaempfer and Wolf (2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from fixedfleet.errors import InputError
from fixedfleet.planning.decoded import Decoded
from fixedfleet.planning.scoring import first_least

if TYPE_CHECKING:
    from fixedfleet.planning.problem import Problem

__all__ = ["BeamOptions", "beam_search"]

_NEVER = torch.iinfo(torch.int64).max
_ALWAYS = -2
_UNLIKELY = -1e4  # log-probability of a way home the prediction rules out


@dataclass(frozen=True)
class BeamOptions:
    """
    How wide the beam is.

    Parameters
    ----------
    width
        Partial plans kept at each step (the paper compares 20 and 200).
    """

    width: int = 20

    def __post_init__(self) -> None:
        if self.width < 1:
            raise InputError(f"beam width is {self.width}, not 1 or more")


def beam_search(problem: Problem, options: BeamOptions) -> Decoded:
    """
    Build plans arc by arc, keeping the likeliest partial plans at each step.

    Vehicle after vehicle sets out, serves customers that fit and comes home, so every
    plan is complete after N + M steps. Of the plans in the last beam the one that
    leaves out least demand is taken, then the shortest, or the likeliest where no
    distances are known.
    """
    beam = _Beam(problem, options.width)
    for _ in range(problem.size - 1 + problem.fleet):
        beam.step()
    missing = beam.problem.demands * (beam.need != _NEVER)
    dead = beam.score == -torch.inf
    keys = [dead.flatten().long(), missing[:, 1:].sum(1)]
    if problem.has_distances:
        keys.append(beam.length)
    keys.append(-beam.score.flatten())
    best = first_least(*(key.view(-1, options.width) for key in keys))
    return Decoded.from_walk(beam.walk(best), problem.fleet, problem.customers)


class _Beam:
    """The partial plans, W = B · width of them, as rows of a repeated problem."""

    def __init__(self, problem: Problem, width: int) -> None:
        self.width = width
        self.problem = problem.repeat(width)
        self.room = pad(self.problem.room, (0, 1), value=-1)
        self.need = torch.where(self.problem.customers, self.problem.demands, _NEVER)
        self.need[:, 0] = _ALWAYS
        self.vehicle = torch.zeros_like(self.problem.capacity)
        self.here = torch.zeros_like(self.vehicle)
        self.left = self.room[:, 0]
        self.length = torch.zeros_like(self.vehicle, dtype=torch.float64)
        self.score = self.length.view(-1, width).clone()  # (B, width)
        self.score[:, 1:] = -torch.inf  # one empty plan to begin with
        self.steps: list[tuple[Tensor, Tensor]] = []

    def step(self) -> None:
        """Extend every plan by every arc and keep the likeliest."""
        problem, size = self.problem, self.problem.size
        current = self.vehicle.clamp(max=problem.fleet - 1)
        arcs = problem.log_probs[problem.owner, current, self.here].double()  # (W, N')
        arcs[:, 0].clamp_(min=_UNLIKELY)
        # Past the last vehicle, and for one that is only padding, staying is free.
        absent = self.room.gather(1, self.vehicle[:, None])[:, 0] < 0
        arcs[:, 0].masked_fill_(absent, 0.0)
        arcs = arcs.masked_fill(self.need > self.left[:, None], -torch.inf)
        total = (self.score.view(-1, 1) + arcs).view(-1, self.width * size)
        # A stable sort breaks ties alike in every batch; topk promises no order.
        kept = total.sort(dim=1, descending=True, stable=True)
        self.score = kept.values[:, : self.width].contiguous()
        choice = kept.indices[:, : self.width]
        base = torch.arange(len(choice), device=choice.device)[:, None] * self.width
        parent = (base + choice // size).flatten()
        self._advance(parent, (choice % size).flatten())

    def _advance(self, parent: Tensor, target: Tensor) -> None:
        if self.problem.has_distances:
            way = self.problem.between(self.here[parent], target)
            self.length = self.length[parent] + way
        self.steps.append((parent, target))
        home = target == 0
        mark = torch.where(home, _ALWAYS, _NEVER)[:, None]
        self.need = self.need[parent].scatter(1, target[:, None], mark)
        self.vehicle = (self.vehicle[parent] + home).clamp(max=self.problem.fleet)
        rest = self.left[parent]
        rest = rest - self.problem.demands.gather(1, target[:, None])[:, 0]
        fresh = self.room.gather(1, self.vehicle[:, None])[:, 0]
        self.left = torch.where(home, fresh, rest)
        self.here = target

    def walk(self, best: Tensor) -> Tensor:
        """Trace back the walks of the chosen plans, (B, N + M); ``best`` is (B,)."""
        row = torch.arange(len(best), device=best.device) * self.width + best
        walk = []
        for parent, target in reversed(self.steps):
            walk.append(target[row])
            row = parent[row]
        return torch.stack(walk[::-1], 1)
