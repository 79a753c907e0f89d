"""The network: features in, log-probabilities of all edges for all vehicles out."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from fixedfleet.errors import InputError
from fixedfleet.model.decoder import Decoder
from fixedfleet.model.features import (
    Features,
    centrality,
    pairwise_distances,
    sweep_anchors,
)
from fixedfleet.model.kernels import load_kernels
from fixedfleet.model.normalise import Normalisation, normalise
from fixedfleet.model.pooling import AttentionLayer, MaxPoolingLayer

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ModelConfig", "Network", "Numbering", "Pooling"]

Pooling = Literal["max", "attention"]
Numbering = Literal["none", "linear", "fourier", "sweep"]

_FREQUENCIES = 4
_PAIR_WIDTH = 32
_MASKED = -1e4  # below any score, and within bfloat16 and float16


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """
    What a network is made of. The defaults are the paper's for 20 and 50 customers.

    Parameters
    ----------
    width
        Channels of an embedding, the paper's d_m.
    hidden
        Hidden width of the fully connected layer.
    layers
        The number of pooling layers, L.
    pooling
        ``max``: leave-one-out max pooling with priming weights, the paper's.
        ``attention``: attention over the others with the priming as a bias.
    heads
        Attention heads; ``max`` has none.
    shared
        Whether depot, customers and vehicles share a layer's f; ``attention`` must.
    normalisation
        What sums to one: ``vehicle`` (the paper's), ``row``, ``joint``, ``softassign``.
    softassign_iterations
        Rounds of ``softassign``.
    numbering
        How vehicles differ. ``none``: not at all, they are exchangeable and get the
        same edges; ``linear``: by k/M, the paper's; ``fourier``: by sines of k/M
        besides; ``sweep``: by the centre of their share of a sweep besides.
    polar
        Whether customers also carry distance and direction from the depot.
    edge_features
        Whether distances and sums of demands enter the decoder.
    edge_heads
        Heads of the decoder's score of the edge alone; 0 for none, as in the paper.
    membership
        Whether the decoder adds a score of vehicle and customer alone.
    decoder_width
        Channels of the edge–vehicle representation; None for ``width``.

    Raises
    ------
    InputError
        If a number or a choice is none of these.
    """

    width: int = 256
    hidden: int = 1024
    layers: int = 8
    pooling: Pooling = "max"
    heads: int = 8
    shared: bool = True
    normalisation: Normalisation = "vehicle"
    softassign_iterations: int = 10
    numbering: Numbering = "linear"
    polar: bool = False
    edge_features: bool = False
    edge_heads: int = 0
    membership: bool = False
    decoder_width: int | None = None

    def __post_init__(self) -> None:
        least = {"width": 1, "hidden": 1, "layers": 0, "heads": 1, "edge_heads": 0}
        least |= {"softassign_iterations": 1}
        if self.decoder_width is not None:
            least |= {"decoder_width": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if type(value) is not int or value < bound:
                raise InputError(
                    f"model setting {name} is {value!r}, not a whole number of at "
                    f"least {bound}"
                )
        for name in ("shared", "polar", "edge_features", "membership"):
            if type(getattr(self, name)) is not bool:
                raise InputError(
                    f"model setting {name} is {getattr(self, name)!r}, not true or "
                    "false"
                )
        choices: dict[str, Any] = {
            "pooling": Pooling,
            "normalisation": Normalisation,
            "numbering": Numbering,
        }
        for name, choice in choices.items():
            if getattr(self, name) not in get_args(choice):
                raise InputError(
                    f"model setting {name} is {getattr(self, name)!r}: choose from "
                    f"{', '.join(get_args(choice))}"
                )
        for name in ("heads", "edge_heads"):
            heads = getattr(self, name)
            if heads and self.width % heads:
                raise InputError(
                    f"model setting {name} is {heads}, which does not divide the "
                    f"width {self.width}"
                )
        if self.pooling == "attention" and not self.shared:
            raise InputError(
                "model setting shared is false, which only pooling 'max' can be"
            )

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> ModelConfig:
        """Read settings by name; an unknown name is an error."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(settings) - known):
            raise InputError(
                f"unknown model setting {unknown[0]!r}: there are "
                f"{', '.join(sorted(known))}"
            )
        return cls(**settings)


class _Geometry(NamedTuple):
    """What follows from the features: d_ij / mean d, centrality, vehicles' places."""

    distances: Tensor  # (B, N', N')
    mean: Tensor  # (B, 1, 1)
    centrality: Tensor  # (B,)
    anchors: Tensor  # (B, M, 2)
    needed: Tensor  # (B, M)


class Network(nn.Module):
    """
    Embedding, L pooling layers, decoder and normalisation.

    Parameters
    ----------
    config
        What the network is made of.
    """

    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__()
        self.config = config = config or ModelConfig()
        d = config.width
        self.embed_depot = nn.Linear(4, d)
        self.embed_customer = nn.Linear(6 if config.polar else 3, d)
        self.embed_vehicle = nn.Linear(4 + _numbering_width(config.numbering), d)
        self.pairs: nn.Module
        if config.pooling == "max":
            self.layers = nn.ModuleList(
                MaxPoolingLayer(d, config.hidden, shared=config.shared)
                for _ in range(config.layers)
            )
            self.norm: nn.Module = nn.Identity()
            self.pairs = nn.Identity()
        else:
            self.layers = nn.ModuleList(
                AttentionLayer(d, config.hidden, config.heads, _PAIR_WIDTH)
                for _ in range(config.layers)
            )
            self.norm = nn.LayerNorm(d)
            self.pairs = nn.Sequential(nn.Linear(5, _PAIR_WIDTH), nn.GELU())
        self.decoder = Decoder(
            d,
            config.decoder_width or d,
            edge_features=config.edge_features,
            edge_heads=config.edge_heads,
            membership=config.membership,
        )

    def forward(self, features: Features) -> Tensor:
        """Return log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed."""
        with torch.autocast(features.demands.device.type, enabled=False):
            geometry = self._measure(features)
        nodes, vehicles = self._encode(features, geometry)
        scores = self.decoder(nodes, vehicles, geometry.distances, features.demands)
        return normalise(
            scores,
            features.nodes,
            features.vehicles,
            self.config.normalisation,
            iterations=self.config.softassign_iterations,
        )

    def fuse(self, fused: bool = True) -> Network:
        """
        Run decoder and max pooling on a GPU in Triton's kernels, or no longer.

        On another device nothing changes: it is done in chunks.
        """
        if fused and torch.cuda.is_available():
            load_kernels()
        for module in self.modules():
            if isinstance(module, MaxPoolingLayer | Decoder):
                module.fused = fused
        return self

    def _measure(self, features: Features) -> _Geometry:
        distances = pairwise_distances(features.coordinates)
        pairs = features.nodes[:, :, None] & features.nodes[:, None, :]
        count = features.nodes.sum(1) * (features.nodes.sum(1) - 1)
        mean = (distances * pairs).sum((1, 2)) / count.clamp_min(1)
        mean = mean.clamp_min(1e-6)[:, None, None]
        if self.config.numbering == "sweep":
            anchors, needed = sweep_anchors(features)
        else:
            anchors = features.coordinates[:, :1].expand(
                -1, features.vehicles.shape[1], -1
            )
            needed = features.vehicles
        return _Geometry(
            distances=distances / mean,
            mean=mean,
            centrality=centrality(distances, features.nodes),
            anchors=anchors,
            needed=needed,
        )

    def _encode(self, features: Features, geometry: _Geometry) -> tuple[Tensor, Tensor]:
        """Return the last embeddings, shapes (B, N', d) and (B, M, d)."""
        nodes, vehicles = self._embed(features, geometry)
        if self.config.pooling == "max":
            demands = features.demands[:, :, None] + features.demands[:, None, :]
            for layer in self.layers:
                nodes, vehicles = layer(
                    nodes,
                    vehicles,
                    geometry.distances,
                    demands,
                    features.nodes,
                    features.vehicles,
                )
            return nodes, vehicles
        n = nodes.shape[1]
        tokens = torch.cat((nodes, vehicles), dim=1)  # (B, T, d), T = N' + M
        with torch.autocast(tokens.device.type, enabled=False):
            measured = _pair_features(features, geometry)
        pairs = self.pairs(measured)  # (B, T, T, P)
        mask = _attention_mask(features)
        group = torch.full((tokens.shape[1],), 1, device=tokens.device)
        group[0] = 0
        group[n:] = 2
        for layer in self.layers:
            tokens = layer(tokens, pairs, mask, group)
        tokens = self.norm(tokens)
        return tokens[:, :n], tokens[:, n:]

    def _embed(self, features: Features, geometry: _Geometry) -> tuple[Tensor, Tensor]:
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
        x_vehicle = _vehicle_features(features, geometry, self.config.numbering)
        nodes = torch.cat(
            (self.embed_depot(x_depot), self.embed_customer(x_customer)), dim=1
        )
        return nodes, self.embed_vehicle(x_vehicle)


def _numbering_width(numbering: Numbering) -> int:
    return {"none": 0, "linear": 0, "fourier": 2 * _FREQUENCIES, "sweep": 5}[numbering]


def _vehicle_features(
    features: Features, geometry: _Geometry, numbering: Numbering
) -> Tensor:
    """k/M, M, Q/Q and Σq/Q of each vehicle, and what the numbering adds."""
    real = features.vehicles
    fleet = real.sum(1, keepdim=True).to(features.demands.dtype)  # (B, 1)
    one = torch.ones_like(real, dtype=features.demands.dtype)
    number = one.cumsum(1) / fleet  # k/M, from 1/M to 1
    total = (features.demands * features.nodes).sum(1, keepdim=True)
    if numbering == "none":
        number = torch.zeros_like(number)
    columns = [number, fleet * one, one, total * one]
    if numbering == "fourier":
        for frequency in range(1, _FREQUENCIES + 1):
            turn = 2 * math.pi * frequency * number
            columns += [turn.sin(), turn.cos()]
    if numbering == "sweep":
        steps = geometry.anchors - features.coordinates[:, :1]
        columns += [*geometry.anchors.unbind(2), *steps.unbind(2)]
        columns.append(geometry.needed.to(one.dtype))
    return torch.stack(columns, dim=2)


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


def _attention_mask(features: Features) -> Tensor:
    """0 where i may listen to j, far below any score elsewhere, shape (B, 1, T, T)."""
    real = torch.cat((features.nodes, features.vehicles), dim=1)
    own = torch.eye(real.shape[1], dtype=torch.bool, device=real.device)
    heard = real[:, None, :] & ~own  # (B, T, T)
    return torch.where(heard, 0.0, _MASKED)[:, None]
