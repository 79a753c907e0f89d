"""The decoder: a score of every edge for every vehicle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Decoder", "edge_scores"]

# Numbers that the largest temporary tensor holds outside the kernels.
_CHUNK = 2**22
_CACHED = 2**18  # the same on a CPU without gradients: about what fits into its cache


def _score_block(a: Tensor, b: Tensor, c: Tensor, v: Tensor) -> Tensor:
    """Return the scores of edges that leave the locations of ``a``, (B, M, I, N')."""
    edges = a.float()[:, :, None] + b.float()[:, None]  # (B, I, N', D)
    # Without gradients, one buffer serves all vehicles.
    buffer = None if torch.is_grad_enabled() else torch.empty_like(edges)
    scores = []
    for inside, outside in zip(c.unbind(1), v.unbind(1), strict=True):
        terms = torch.add(edges, inside.float()[:, None, None], out=buffer).relu_()
        score = terms.flatten(1, 2) @ outside.float()[..., None]  # (B, I · N', 1)
        scores.append(score.float().view(edges.shape[:3]))
    return torch.stack(scores, dim=1)


def _score_in_blocks(a: Tensor, b: Tensor, c: Tensor, v: Tensor) -> Tensor:
    """
    Score a few instances at a time and a few of their locations i at a time.

    The terms of the sums are not kept: the backward pass computes them again.
    """
    _, n, width = a.shape
    most = _CHUNK if a.is_cuda else _CACHED
    score: Callable[..., Tensor] = _score_block
    if torch.is_grad_enabled():  # checkpoint imports the compiler of torch: 2 s
        # A backward pass holds the terms of all vehicles of a block.
        most = _CHUNK // max(1, c.shape[1])
        score = partial(
            checkpoint, _score_block, use_reentrant=False, preserve_rng_state=False
        )
    rows = max(1, min(n, most // (n * width)))
    several = max(1, most // (n * rows * width))
    parts = []
    for some in zip(*(torch.split(x, several) for x in (a, b, c, v)), strict=True):
        starts, *others = some
        scores = [score(block, *others) for block in torch.split(starts, rows, 1)]
        parts.append(torch.cat(scores, dim=2))
    return torch.cat(parts)


def edge_scores(
    a: Tensor, b: Tensor, c: Tensor, v: Tensor, *, fused: bool = False
) -> Tensor:
    """
    Σ_c ReLU(a_ic + b_jc + c_kc) · v_kc for all k, i, j, in float32.

    Parameters
    ----------
    a, b
        Projections of the locations as start and as end, shape (B, N', D).
    c, v
        Projections of the vehicles, inside and outside the ReLU, shape (B, M, D).
    fused
        Whether to use the Triton kernels on a GPU (see :func:`load_kernels`).

    Returns
    -------
    Tensor
        Shape (B, M, N', N').
    """
    if fused and a.is_cuda:
        return cast("Tensor", torch.ops.fixedfleet.edge_scores(a, b, c, v))
    return _score_in_blocks(a, b, c, v)


class Decoder(nn.Module):
    """
    Scores of all edges for all vehicles, ReLU(W_o [E_i; E_j; V_k] + b_o) · V_k.

    W_o is split into three projections, of start, end and vehicle. Their sum is only
    formed inside the ReLU, so no tensor of M·N'²·d numbers is kept.

    Parameters
    ----------
    width
        The number of channels, d.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start = nn.Linear(width, width)  # carries the bias b_o of all three
        self.end = nn.Linear(width, width, bias=False)
        self.vehicle = nn.Linear(width, width, bias=False)
        self.fused = False

    def forward(self, nodes: Tensor, vehicles: Tensor) -> Tensor:
        """Return the scores of embeddings (B, N', d) and (B, M, d) in float32."""
        a, b, c = self.start(nodes), self.end(nodes), self.vehicle(vehicles)
        return edge_scores(a, b, c, vehicles, fused=self.fused)
