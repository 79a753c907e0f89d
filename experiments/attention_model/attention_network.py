"""The network of the Attention Model for the CVRP: encoder, and scores of a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fixedfleet.errors import InputError, at_least, check_whole

__all__ = ["AttentionNetwork", "Prepared", "Settings"]

_HEADS = 8
_HIDDEN = 512


@dataclass(frozen=True)
class Settings:
    """
    What a network is made of, and made for.

    Parameters
    ----------
    customers
        The number of customers it was trained on.
    width
        Numbers in an embedding, D.
    layers
        Layers of the encoder.
    clipping
        Bound of a score: each is this number times a tanh.
    """

    customers: int
    width: int = 128
    layers: int = 3
    clipping: float = 10.0

    def __post_init__(self) -> None:
        check_whole("the number of customers", self.customers, at_least(1))
        check_whole("the number of layers", self.layers, at_least(1))
        check_whole("the width", self.width, at_least(_HEADS))
        if self.width % _HEADS:
            raise InputError(f"the width is {self.width}, not a multiple of {_HEADS}")
        if not 0 < self.clipping < math.inf:
            raise InputError(f"the clipping is {self.clipping!r}, not above 0")


class Prepared(NamedTuple):
    """
    What each step of the decoder needs of an instance, computed once.

    Attributes
    ----------
    queries
        The query of a vehicle at each node, but for its load, shape (B, N', D).
    glimpse_keys, glimpse_values
        Of the glimpse's H heads, shape (B, H, N', D/H).
    keys
        Of the nodes as the next one, for a glimpse, shape (B, N', D).
    """

    queries: Tensor
    glimpse_keys: Tensor
    glimpse_values: Tensor
    keys: Tensor


class AttentionNetwork(nn.Module):
    """
    A graph attention encoder, and a decoder that scores the next node of a tour.

    Modules and weights are named as in the published files.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        width = settings.width
        self.settings = settings
        self.init_embed_depot = nn.Linear(2, width)
        self.init_embed = nn.Linear(3, width)
        layers = nn.Sequential(*(_layer(width) for _ in range(settings.layers)))
        self.embedder = nn.ModuleDict({"layers": layers})
        self.project_node_embeddings = nn.Linear(width, 3 * width, bias=False)
        self.project_fixed_context = nn.Linear(width, width, bias=False)
        self.project_step_context = nn.Linear(width + 1, width, bias=False)
        self.project_out = nn.Linear(width, width, bias=False)

    def prepare(self, coordinates: Tensor, demands: Tensor) -> Prepared:
        """
        Encode instances, the depot being node 0.

        Parameters
        ----------
        coordinates
            Inside the unit square, shape (B, N', 2).
        demands
            As shares of the capacity, shape (B, N').
        """
        customers = torch.cat((coordinates, demands[..., None]), dim=2)[:, 1:]
        depot = self.init_embed_depot(coordinates[:, :1])
        nodes = torch.cat((depot, self.init_embed(customers)), dim=1)  # (B, N', D)
        nodes = self.embedder["layers"](nodes)
        keys, values, last_keys = self.project_node_embeddings(nodes).chunk(3, dim=2)
        # The context is [graph; last node; room], its projection a sum of three.
        of_node = self.project_step_context.weight[:, :-1]
        graph = self.project_fixed_context(nodes.mean(1, keepdim=True))
        # k·(W g) is (Wᵀ k)·g: so the glimpse need not be projected at each step.
        last_keys = last_keys @ self.project_out.weight / math.sqrt(nodes.shape[2])
        return Prepared(
            queries=graph + F.linear(nodes, of_node),
            glimpse_keys=_split(keys),
            glimpse_values=_split(values),
            keys=last_keys,
        )

    def scores(
        self, prepared: Prepared, last: Tensor, room: Tensor, open_: Tensor
    ) -> Tensor:
        """
        Score the next node of S vehicles an instance, logits of shape (B, S, N').

        Parameters
        ----------
        prepared
            The instances.
        last
            Node at which each vehicle is, shape (B, S).
        room
            Share of the capacity it has left, shape (B, S).
        open_
            Nodes it may go to, at least one, shape (B, S, N'). Others score -inf.
        """
        width = prepared.queries.shape[2]
        index = last[..., None].expand(-1, -1, width)
        of_room = self.project_step_context.weight[:, -1]
        query = prepared.queries.gather(1, index) + room[..., None] * of_room
        glimpse = F.scaled_dot_product_attention(
            _split(query),
            prepared.glimpse_keys,
            prepared.glimpse_values,
            attn_mask=open_[:, None],
        )  # (B, H, S, D/H)
        fit = _join(glimpse) @ prepared.keys.transpose(1, 2)  # (B, S, N')
        clipped = self.settings.clipping * torch.tanh(fit)
        return clipped.masked_fill(~open_, -math.inf)


def _layer(width: int) -> nn.Sequential:
    forward = nn.Sequential(
        nn.Linear(width, _HIDDEN), nn.ReLU(), nn.Linear(_HIDDEN, width)
    )
    return nn.Sequential(
        _Residual(_Attention(width)),
        _Normalisation(width),
        _Residual(forward),
        _Normalisation(width),
    )


class _Residual(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, nodes: Tensor) -> Tensor:
        added: Tensor = self.module(nodes)
        return nodes + added


class _Attention(nn.Module):
    """Attention of every node to every node, with one matrix per head."""

    def __init__(self, width: int) -> None:
        super().__init__()
        inwards = (_HEADS, width, width // _HEADS)
        outwards = (_HEADS, width // _HEADS, width)
        self.W_query = nn.Parameter(torch.empty(inwards))
        self.W_key = nn.Parameter(torch.empty(inwards))
        self.W_val = nn.Parameter(torch.empty(inwards))
        self.W_out = nn.Parameter(torch.empty(outwards))
        for weight in self.parameters():
            nn.init.uniform_(weight, -(width**-0.5), width**-0.5)

    def forward(self, nodes: Tensor) -> Tensor:
        each = nodes[:, None]  # (B, 1, N', D)
        heads = F.scaled_dot_product_attention(
            each @ self.W_query, each @ self.W_key, each @ self.W_val
        )  # (B, H, N', D/H)
        return _join(heads) @ self.W_out.flatten(0, 1)


class _Normalisation(nn.Module):
    """Batch normalisation by the statistics of the training."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.normalizer = nn.BatchNorm1d(width)

    def forward(self, nodes: Tensor) -> Tensor:
        normal: Tensor = self.normalizer(nodes.flatten(0, 1))
        return normal.view_as(nodes)


def _split(vectors: Tensor) -> Tensor:
    """Give each head its part: (B, T, D) to (B, H, T, D/H)."""
    return vectors.view(*vectors.shape[:2], _HEADS, -1).transpose(1, 2)


def _join(heads: Tensor) -> Tensor:
    """Undo :func:`_split`."""
    return heads.transpose(1, 2).flatten(2)
