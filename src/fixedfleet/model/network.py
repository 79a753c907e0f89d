"""The network: features in, log-probabilities of all edges for all vehicles out."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from fixedfleet.model.config import ModelConfig
from fixedfleet.model.decoder import Decoder
from fixedfleet.model.features import (
    Features,
    attention_mask,
    centrality,
    element_groups,
    pairwise_distances,
    sweep_anchors,
)
from fixedfleet.model.kernels import load_kernels
from fixedfleet.model.normalise import make_normalisation, normalise
from fixedfleet.model.pooling import (
    PAIR_WIDTH,
    AttentionLayer,
    MaxPoolingLayer,
    Pairs,
)

__all__ = ["Network"]


class _Geometry(NamedTuple):
    """Quantities that follow from the features."""

    distances: Tensor  # d_ij / mean d, (B, N', N')
    mean: Tensor  # mean d, (B, 1, 1)
    centrality: Tensor  # (B,)
    anchors: Tensor  # the places of the vehicles, (B, M, 2)
    needed: Tensor  # which vehicles have a share of the sweep, (B, M)


class Network(nn.Module):
    """
    The embedding, L pooling layers, the decoder and the normalisation.

    Parameters
    ----------
    config
        The settings. Default: those of the paper.
    """

    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or ModelConfig()
        d = config.width
        self.embed_depot = nn.Linear(4, d)
        self.embed_customer = nn.Linear(6 if config.polar else 3, d)
        self.embed_vehicle = nn.Linear(9 if config.numbering == "sweep" else 4, d)
        self.pairs: nn.Module
        if config.pooling == "max":
            self.layers = nn.ModuleList(
                MaxPoolingLayer(config) for _ in range(config.layers)
            )
            self.norm: nn.Module = nn.Identity()
            self.pairs = nn.Identity()
        else:
            self.layers = nn.ModuleList(
                AttentionLayer(config) for _ in range(config.layers)
            )
            self.norm = nn.LayerNorm(d)
            self.pairs = nn.Sequential(nn.Linear(5, PAIR_WIDTH), nn.GELU())
        self.decoder = Decoder(config)
        self.normalisation = make_normalisation(config)

    def forward(self, features: Features) -> Tensor:
        """Return log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed."""
        with torch.autocast(features.demands.device.type, enabled=False):
            geometry = self._measure(features)
        nodes, vehicles = self._embed(features, geometry)
        if self.config.pooling == "max":
            nodes, vehicles = self._pool(nodes, vehicles, features, geometry)
        else:
            nodes, vehicles = self._attend(nodes, vehicles, features, geometry)
        scores = self.decoder(nodes, vehicles, geometry.distances, features.demands)
        return normalise(self.normalisation, scores, features)

    def fuse(self, fused: bool = True) -> Network:
        """
        Choose whether decoder and max pooling run in Triton's kernels on a GPU.

        On a CPU nothing changes.
        """
        if fused and torch.cuda.is_available():
            load_kernels()
        for module in self.modules():
            if isinstance(module, MaxPoolingLayer | Decoder):
                module.fused = fused
        return self

    def _measure(self, features: Features) -> _Geometry:
        """Return distances, centrality and the places of the vehicles."""
        distances = pairwise_distances(features.coordinates)
        pairs = features.nodes[:, :, None] & features.nodes[:, None, :]
        count = features.nodes.sum(1) * (features.nodes.sum(1) - 1)
        mean = (distances * pairs).sum((1, 2)) / count.clamp_min(1)
        mean = mean.clamp_min(1e-6)[:, None, None]
        if self.config.numbering == "sweep":
            anchors, needed = sweep_anchors(features)
        else:
            fleet = features.vehicles.shape[1]
            anchors = features.coordinates[:, :1].expand(-1, fleet, -1)
            needed = features.vehicles
        return _Geometry(
            distances=distances / mean,
            mean=mean,
            centrality=centrality(distances, features.nodes),
            anchors=anchors,
            needed=needed,
        )

    def _embed(self, features: Features, geometry: _Geometry) -> tuple[Tensor, Tensor]:
        """Return the first embeddings, shapes (B, N', d) and (B, M, d)."""
        points, demands = features.coordinates, features.demands[..., None]
        depot, customers = points[:, :1], points[:, 1:]
        central = geometry.centrality[:, None, None]
        x_depot = torch.cat((depot, torch.zeros_like(central), central), dim=2)
        x_customer = torch.cat((customers, demands[:, 1:]), dim=2)
        if self.config.polar:
            steps = customers - depot
            away = torch.hypot(steps[..., :1], steps[..., 1:])
            direction = steps / away.clamp_min(1e-6)
            x_customer = torch.cat((x_customer, away, direction), dim=2)
        x_vehicle = self._vehicle_features(features, geometry)
        nodes = torch.cat(
            (self.embed_depot(x_depot), self.embed_customer(x_customer)), dim=1
        )
        return nodes, self.embed_vehicle(x_vehicle)

    def _vehicle_features(self, features: Features, geometry: _Geometry) -> Tensor:
        """Return the numbering, Q/Q and Σq/Q of each vehicle, shape (B, M, 4 or 9)."""
        real = features.vehicles
        fleet = real.sum(1, keepdim=True).to(features.demands.dtype)  # (B, 1)
        one = torch.ones_like(real, dtype=features.demands.dtype)
        number = one.cumsum(1)  # k = 1, ..., M
        total = (features.demands * features.nodes).sum(1, keepdim=True)
        columns = [1 / number, number, one, total * one]
        if self.config.numbering == "sweep":
            steps = geometry.anchors - features.coordinates[:, :1]
            columns[:2] = [number / fleet, fleet * one]
            columns += [*geometry.anchors.unbind(2), *steps.unbind(2)]
            columns.append(geometry.needed.to(one.dtype))
        return torch.stack(columns, dim=2)

    def _pool(
        self, nodes: Tensor, vehicles: Tensor, features: Features, geometry: _Geometry
    ) -> tuple[Tensor, Tensor]:
        """Return the embeddings after the layers of max pooling."""
        demands = features.demands[:, :, None] + features.demands[:, None, :]
        pairs = Pairs(geometry.distances, demands, features.nodes, features.vehicles)
        for layer in self.layers:
            nodes, vehicles = layer(nodes, vehicles, pairs)
        return nodes, vehicles

    def _attend(
        self, nodes: Tensor, vehicles: Tensor, features: Features, geometry: _Geometry
    ) -> tuple[Tensor, Tensor]:
        """Return the embeddings after the layers of attention."""
        n = nodes.shape[1]
        tokens = torch.cat((nodes, vehicles), dim=1)  # (B, T, d), T = N' + M
        with torch.autocast(tokens.device.type, enabled=False):
            measured = _pair_features(features, geometry)
        pairs = self.pairs(measured)  # (B, T, T, PAIR_WIDTH)
        mask, group = attention_mask(features), element_groups(features)
        for layer in self.layers:
            tokens = layer(tokens, pairs, mask, group)
        tokens = self.norm(tokens)
        return tokens[:, :n], tokens[:, n:]


def _pair_features(features: Features, geometry: _Geometry) -> Tensor:
    """Features of all pairs of depot, customers and vehicles, shape (B, T, T, 5)."""
    depot = features.coordinates[:, :1]
    points = torch.cat((features.coordinates, geometry.anchors), dim=1)
    away = (points - depot).norm(dim=2, keepdim=True) / geometry.mean  # (B, T, 1)
    distances = pairwise_distances(points) / geometry.mean
    steps = (points - depot) / geometry.mean
    cosine = steps @ steps.mT / (away @ away.mT).clamp_min(1e-6)
    shares = torch.nn.functional.pad(features.demands, (0, geometry.anchors.shape[1]))
    return torch.stack(
        (
            distances,
            torch.exp(-4 * distances),
            away + away.mT - distances,  # Clarke and Wright's saving
            cosine,
            shares[:, :, None] + shares[:, None, :],
        ),
        dim=3,
    )
