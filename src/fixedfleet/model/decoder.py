"""The edge–vehicle decoder: scores of edges, never a tensor of M·N'²·d in memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Decoder", "triple_score"]

_CHUNK = 2**23  # elements of the largest temporary tensor outside the kernels


def _nodes(a: Tensor, b: Tensor, d: Tensor, w: Tensor) -> Tensor:
    """a_i + b_j + d_ij · w, shape (B, N', N', D), float32."""
    edge = d.float()[..., None] * w.float()
    return edge + a.float()[:, :, None] + b.float()[:, None]


def _blocks(a: Tensor) -> Iterator[tuple[slice, slice]]:
    """Slices of instances and rows i that keep temporaries small."""
    size, n, width = a.shape
    rows = max(1, min(n, _CHUNK // (n * width)))
    several = max(1, _CHUNK // (n * rows * width))
    for start in range(0, size, several):
        for row in range(0, n, rows):
            yield slice(start, start + several), slice(row, row + rows)


class _TripleScore(torch.autograd.Function):
    """Σ_c ReLU(a_ic + b_jc + c_kc + d_ij w_c) · v_kc, keeping the small inputs only."""

    @staticmethod
    def forward(ctx: Any, *inputs: Tensor) -> Tensor:
        ctx.save_for_backward(*inputs)
        a, b, c, v, d, w = inputs
        size, n, _ = a.shape
        scores = a.new_empty((size, c.shape[1], n, n), dtype=torch.float32)
        for s, i in _blocks(a):
            nodes = _nodes(a[s, i], b[s], d[s, i], w)
            before = torch.empty_like(nodes)
            for k in range(c.shape[1]):
                torch.add(nodes, c[s, k, None, None].float(), out=before)
                weighted = before.relu_().flatten(1, 2) @ v[s, k, :, None].float()
                scores[s, k, i] = weighted.view(nodes.shape[:3])
        return scores

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        g = grads[0].contiguous()
        inputs = ctx.saved_tensors
        results = _backward_in_chunks(g, inputs, ctx.needs_input_grad[5])
        return tuple(
            None if grad is None else grad.to(x.dtype)
            for grad, x in zip(results, inputs, strict=True)
        )


def _backward_in_chunks(
    g: Tensor, inputs: tuple[Tensor, ...], wants_w: bool
) -> list[Tensor | None]:
    a, b, c, v, d, w = inputs
    ga, gb, gc, gv, gw = (
        torch.zeros_like(x, dtype=torch.float32) for x in (a, b, c, v, w)
    )
    for s, i in _blocks(a):
        nodes = _nodes(a[s, i], b[s], d[s, i], w)
        for k in range(c.shape[1]):
            slope = g[s, k, i].float()[..., None]
            before = nodes + c[s, k, None, None].float()
            gv[s, k] += (slope * before.relu()).sum((1, 2))
            passed = slope * v[s, k, None, None].float() * (before > 0)
            ga[s, i] += passed.sum(2)
            gb[s] += passed.sum(1)
            gc[s, k] += passed.sum((1, 2))
            if wants_w:
                gw += (passed * d[s, i, :, None].float()).sum((0, 1, 2))
    return [ga, gb, gc, gv, None, gw if wants_w else None]


@torch.compiler.disable  # type: ignore[untyped-decorator]
def _score_in_chunks(*inputs: Tensor) -> Tensor:
    return cast("Tensor", _TripleScore.apply(*inputs))  # type: ignore[no-untyped-call]


def triple_score(
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
        What a distance adds to each channel, shape (D,); None for nothing.
    fused
        Whether to run on a GPU in kernels that keep the sum's terms in registers (see
        :func:`load_kernels`); elsewhere, and otherwise, it is done in chunks.

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
    return cast("Tensor", _score_in_chunks(a, b, c, v, distances, weight))


class Decoder(nn.Module):
    """
    Scores of all edges for all vehicles, ReLU(W_o [E_i; E_j; V_k] + b_o) · V_k / √d.

    W_o is split into its three parts, applied to locations and vehicles before they
    meet.

    Parameters
    ----------
    width
        Channels of an embedding, d.
    inner
        Channels of the edge–vehicle representation. Where it is not d, the vehicle
        outside the ReLU is projected to it.
    edge_features
        Whether distances and sums of demands enter beside the embeddings.
    edge_heads
        Heads of a score of the edge alone, whatever the vehicle; 0 for none.
    membership
        Whether a score of vehicle and customer alone is added to the customer's
        edges.
    """

    def __init__(
        self,
        width: int,
        inner: int,
        *,
        edge_features: bool,
        edge_heads: int,
        membership: bool,
    ) -> None:
        super().__init__()
        self.start = nn.Linear(width, inner)  # carries the bias b_o of all three
        self.end = nn.Linear(width, inner, bias=False)
        self.vehicle = nn.Linear(width, inner, bias=False)
        self.value = nn.Identity() if inner == width else nn.Linear(width, inner)
        self.edge_features = edge_features
        if edge_features:
            self.distance = nn.Parameter(torch.zeros(inner))
            self.demand = nn.Parameter(torch.zeros(inner))
        self.edge_score = EdgeScore(width, edge_heads) if edge_heads else None
        self.member_node = nn.Linear(width, width) if membership else None
        self.member_vehicle = nn.Linear(width, width) if membership else None
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
            # A sum of demands splits as W_o does: each end brings its own.
            a = a + (demands[..., None] * self.demand).to(a.dtype)
            b = b + (demands[..., None] * self.demand).to(b.dtype)
        scores: Tensor = triple_score(a, b, c, v, distances, weight, fused=self.fused)
        scores = scores / math.sqrt(a.shape[2])
        if self.edge_score is not None:
            scores = scores + self.edge_score(nodes, distances)[:, None]
        if self.member_node is not None and self.member_vehicle is not None:
            member = self.member_vehicle(vehicles) @ self.member_node(nodes).mT
            member = member.float() / math.sqrt(nodes.shape[2])  # (B, M, N')
            # The edge i → j is vehicle k's if both its ends are.
            scores = scores + member[..., None] + member[:, :, None, :]
        return scores


class EdgeScore(nn.Module):
    """
    A score of each edge from its ends and its length, whatever the vehicle.

    Parameters
    ----------
    width
        Channels of an embedding, d.
    heads
        Dot products of the two ends that are mixed with the length.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
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
