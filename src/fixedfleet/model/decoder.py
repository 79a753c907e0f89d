"""The decoder: a score of every edge for every vehicle."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, cast

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:
    from collections.abc import Callable

    from fixedfleet.model.config import ModelConfig

__all__ = ["Decoder", "edge_scores"]

# Numbers that the largest temporary tensor holds outside the kernels.
_CHUNK = 2**22
_CACHED = 2**18  # the same on a CPU without gradients: about what fits into its cache


def _score_block(
    a: Tensor, b: Tensor, c: Tensor, v: Tensor, d: Tensor, w: Tensor
) -> Tensor:
    """Scores of all edges out of the locations of ``a``, shape (B, M, I, N')."""
    edges = d.float()[..., None] * w.float()
    edges = edges + a.float()[:, :, None] + b.float()[:, None]  # (B, I, N', D)
    # Without gradients, one buffer serves all vehicles.
    buffer = None if torch.is_grad_enabled() else torch.empty_like(edges)
    scores = []
    for inside, outside in zip(c.unbind(1), v.unbind(1), strict=True):
        terms = torch.add(edges, inside.float()[:, None, None], out=buffer).relu_()
        score = terms.flatten(1, 2) @ outside.float()[..., None]  # (B, I · N', 1)
        scores.append(score.float().view(edges.shape[:3]))
    return torch.stack(scores, dim=1)


def _score_in_blocks(
    a: Tensor, b: Tensor, c: Tensor, v: Tensor, d: Tensor, w: Tensor
) -> Tensor:
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
    for some in zip(*(torch.split(x, several) for x in (a, b, c, v, d)), strict=True):
        a_part, *ends, d_part = some
        blocks = zip(
            torch.split(a_part, rows, 1), torch.split(d_part, rows, 1), strict=True
        )
        scores = [score(a_rows, *ends, d_rows, w) for a_rows, d_rows in blocks]
        parts.append(torch.cat(scores, dim=2))
    return torch.cat(parts)


def edge_scores(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    v: Tensor,
    distances: Tensor,
    weight: Tensor | None,
    *,
    fused: bool = False,
) -> Tensor:
    """
    Σ_c ReLU(a_ic + b_jc + c_kc + d_ij w_c) · v_kc for all k, i, j, in float32.

    Parameters
    ----------
    a, b
        Projections of the locations as start and as end, shape (B, N', D).
    c, v
        Projections of the vehicles, inside and outside the ReLU, shape (B, M, D).
    distances
        d_ij / mean d, shape (B, N', N').
    weight
        The weight of the distance in each channel, shape (D,); None to leave
        distances out.
    fused
        Whether to use the Triton kernels on a GPU (see :func:`load_kernels`).

    Returns
    -------
    Tensor
        Shape (B, M, N', N').
    """
    if fused and a.is_cuda:
        score = torch.ops.fixedfleet.edge_scores
        return cast("Tensor", score(a, b, c, v, distances, weight))
    if weight is None:
        weight = a.new_zeros(a.shape[2])
    return _score_in_blocks(a, b, c, v, distances, weight)


class Decoder(nn.Module):
    """
    Scores of all edges for all vehicles, ReLU(W_o [E_i; E_j; V_k] + b_o) · V_k / √d.

    W_o is split into three projections, of start, end and vehicle. Their sum is only
    formed inside the ReLU, so no tensor of M·N'²·d numbers is kept.

    The settings ``edge_features``, ``edge_heads`` and ``membership`` add terms.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width, inner = config.width, config.decoder_width or config.width
        self.start = nn.Linear(width, inner)  # carries the bias b_o of all three
        self.end = nn.Linear(width, inner, bias=False)
        self.vehicle = nn.Linear(width, inner, bias=False)
        # If the widths differ, the vehicle outside the ReLU is projected, too.
        self.value = nn.Identity() if inner == width else nn.Linear(width, inner)
        self.edge_features = config.edge_features
        if config.edge_features:
            self.distance = nn.Parameter(torch.zeros(inner))
            self.demand = nn.Parameter(torch.zeros(inner))
        self.edge_score = SharedEdgeScore(config) if config.edge_heads else None
        self.member_node = nn.Linear(width, width) if config.membership else None
        self.member_vehicle = nn.Linear(width, width) if config.membership else None
        self.fused = False

    def forward(
        self, nodes: Tensor, vehicles: Tensor, distances: Tensor, demands: Tensor
    ) -> Tensor:
        """
        Return the scores, shape (B, M, N', N'), in float32.

        Parameters
        ----------
        nodes, vehicles
            Embeddings, shapes (B, N', d) and (B, M, d).
        distances
            d_ij / mean d, shape (B, N', N').
        demands
            q_i as shares of the capacity, shape (B, N').
        """
        a, b, c = self.start(nodes), self.end(nodes), self.vehicle(vehicles)
        v = self.value(vehicles)
        weight = self.distance if self.edge_features else None
        if self.edge_features:
            # A sum of demands splits as W_o does: each end contributes its own.
            a = a + (demands[..., None] * self.demand).to(a.dtype)
            b = b + (demands[..., None] * self.demand).to(b.dtype)
        scores: Tensor = edge_scores(a, b, c, v, distances, weight, fused=self.fused)
        scores = scores / math.sqrt(a.shape[2])
        if self.edge_score is not None:
            scores = scores + self.edge_score(nodes, distances)[:, None]
        if self.member_node is not None and self.member_vehicle is not None:
            member = self.member_vehicle(vehicles) @ self.member_node(nodes).mT
            member = member.float() / math.sqrt(nodes.shape[2])  # (B, M, N')
            # Vehicle k uses the edge i → j only if it serves both ends.
            scores = scores + member[..., None] + member[:, :, None, :]
        return scores


class SharedEdgeScore(nn.Module):
    """
    A score of each edge, from its ends and its length, the same for all vehicles.

    Dot products of the two ends, ``edge_heads`` of them, are mixed with the length.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = heads = config.edge_heads
        self.start = nn.Linear(width, width)
        self.end = nn.Linear(width, width)
        self.mix = nn.Sequential(
            nn.Linear(heads + 2, 2 * heads), nn.GELU(), nn.Linear(2 * heads, 1)
        )

    def forward(self, nodes: Tensor, distances: Tensor) -> Tensor:
        """Return the scores of the edges, shape (B, N', N'), in float32."""
        b, n, d = nodes.shape
        start = self.start(nodes).view(b, n, self.heads, -1).transpose(1, 2)
        end = self.end(nodes).view(b, n, self.heads, -1).transpose(1, 2)
        dots = start @ end.mT / math.sqrt(d // self.heads)  # (B, heads, N', N')
        lengths = torch.stack((distances, torch.exp(-4 * distances)), dim=-1)
        pairs = torch.cat((dots.permute(0, 2, 3, 1), lengths.to(dots.dtype)), dim=3)
        return cast("Tensor", self.mix(pairs)).float()[..., 0]
