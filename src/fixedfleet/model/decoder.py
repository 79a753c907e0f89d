"""The last part of the paper's network: a score of every edge for every vehicle."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Decoder", "edge_scores"]

# Elements of the largest temporary tensor, if the Triton kernels are not used. On a CPU
# without gradients, _CACHED replaces it: about what fits into the processor's cache.
_CHUNK = 2**22
_CACHED = 2**18


def _score_block(a: Tensor, b: Tensor, c: Tensor, v: Tensor) -> Tensor:
    """
    Return the scores of the edges that start at I given locations, (B, M, I, N').

    The arguments are those of :func:`edge_scores`, except that ``a`` has only these I
    locations, shape (B, I, D).
    """
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
    Return the scores (B, M, N', N') of all edges, computed in blocks to save memory.

    A block covers some of the instances and some of the locations at which edges start.
    The terms of the sums are not stored: the backward pass computes them again. The
    arguments are those of :func:`edge_scores`.
    """
    _, n, width = a.shape
    most = _CHUNK if a.is_cuda else _CACHED
    score: Callable[..., Tensor] = _score_block
    # Without gradients, `checkpoint` is avoided: its first call imports torch's
    # compiler, which takes 2 s.
    if torch.is_grad_enabled():
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
    Return Σ_c ReLU(a_ic + b_jc + c_kc) · v_kc for all k, i, j, in float32.

    This sum over the D channels c is the score of the edge from location i to location
    j for vehicle k.

    Parameters
    ----------
    a, b
        Projections of the locations as start and as end of an edge, shape (B, N', D).
    c
        Projections of the vehicles, which are added inside the ReLU, shape (B, M, D).
    v
        Weights of the channels for each vehicle, shape (B, M, D).
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
    Scores all edges for all vehicles by ReLU(W_o [E_i; E_j; V_k] + b_o) · V_k.

    E_i and E_j are the embeddings of the edge's two locations, and V_k is the embedding
    of the vehicle. W_o is split into three projections: of E_i, of E_j and of V_k. Each
    projection is computed only once per location or vehicle, and no tensor of M·N'²·d
    numbers is stored.

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
        """
        Return the scores of all edges, shape (B, M, N', N'), in float32.

        The embeddings ``nodes`` have shape (B, N', d), and ``vehicles`` (B, M, d).
        """
        a, b, c = self.start(nodes), self.end(nodes), self.vehicle(vehicles)
        return edge_scores(a, b, c, vehicles, fused=self.fused)
