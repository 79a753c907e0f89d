"""Muon, an optimiser for matrices: each update is orthogonalised."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Muon"]

_MOMENTUM = 0.95
_STEPS = 5
# Coefficients of the iteration X ← aX + (bA + cA²)X with A = XXᵀ, which brings all
# singular values close to 1.
_A, _B, _C = 3.4445, -4.7750, 2.0315
_SIZE = 0.2  # the root mean square of an update's entries, over the learning rate


class Muon(torch.optim.Optimizer):
    """
    The optimiser Muon: momentum, with updates that are made orthogonal.

    The updates are made orthogonal by Newton and Schulz's iteration. Matrices of the
    same shape are updated together. A step copies nothing from the host, so a CUDA
    graph can capture it.

    Parameters
    ----------
    matrices
        The weights, each a matrix.
    lr
        The learning rate. If it changes while a CUDA graph is replayed, it must be a
        tensor on the device of the weights.
    weight_decay
        In each step, weights are multiplied by 1 − ``lr`` · ``weight_decay``.

    References
    ----------
    Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024).
    """

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float | Tensor = 0.01,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(matrices, {"lr": lr, "weight_decay": weight_decay})
        shapes: dict[torch.Size, list[Tensor]] = defaultdict(list)
        for group in self.param_groups:
            for matrix in group["params"]:
                shapes[matrix.shape].append(matrix)
        self._stacks = []
        for alike in shapes.values():
            stack = torch.zeros((len(alike), *alike[0].shape), device=alike[0].device)
            self._stacks.append((alike, stack))
            for matrix, momentum in zip(alike, stack, strict=True):
                self.state[matrix] = {"momentum": momentum}

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Update all matrices by their gradients; ``closure`` is ignored."""
        group = self.param_groups[0]
        rate, decay = group["lr"], group["weight_decay"]
        for matrices, momentum in self._stacks:
            grads = [matrix.grad for matrix in matrices if matrix.grad is not None]
            stack = torch.stack(grads).float()
            momentum.lerp_(stack, 1 - _MOMENTUM)
            updates = orthogonal(stack.lerp(momentum, _MOMENTUM))
            updates *= _SIZE * math.sqrt(max(updates.shape[1:])) * rate
            torch._foreach_mul_(matrices, 1 - rate * decay)
            torch._foreach_sub_(matrices, list(updates.unbind(0)))


def orthogonal(matrices: Tensor) -> Tensor:
    """
    Return matrices with the same singular vectors, but singular values near 1.

    ``matrices`` has shape (count, rows, columns).
    """
    found = matrices.bfloat16()
    tall = found.shape[1] > found.shape[2]
    if tall:
        found = found.mT
    found = found / (found.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(_STEPS):
        square = found @ found.mT
        found = _A * found + (_B * square + _C * (square @ square)) @ found
    result: Tensor = found.mT if tall else found
    return result.float()
