"""The paper's network: it predicts log-probabilities of edges for vehicles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import torch
from torch import Tensor, nn

from fixedfleet.errors import at_least, check_settings
from fixedfleet.model.decoder import Decoder
from fixedfleet.model.features import Features, centrality, pairwise_distances
from fixedfleet.model.kernels import load_kernels
from fixedfleet.model.normalise import NORMALISATIONS, normalise
from fixedfleet.model.plan_network import PlanNetwork
from fixedfleet.model.pooling import MaxPoolingLayer, Pairs, Priming

__all__ = ["ModelConfig", "Network"]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """
    The settings of the paper's network. The defaults are those for 20 customers.

    Parameters
    ----------
    width
        Channels of an embedding, the paper's d_m.
    hidden
        Hidden width of the fully connected sublayer.
    layers
        The number of pooling layers, L.
    fleet_share
        If true, the features of vehicle k are k/M and M, as in the authors' code;
        otherwise 1/k and k, as in the paper.
    score_scale
        What the scores are divided by: ``locations`` means N', as in the authors' code;
        ``width`` means √d, as in the paper.
    normalisation
        How scores become probabilities: ``vehicle`` lets all edges of a vehicle sum to
        one, as in the paper; ``softassign`` lets the edges into and out of each
        customer sum to one. A normalisation of your own is given by its registered
        name, or as "module.py:Name".

    Raises
    ------
    InputError
        If a setting is out of range or unknown.
    """

    width: Annotated[int, at_least(1)] = 256
    hidden: Annotated[int, at_least(1)] = 1024
    layers: Annotated[int, at_least(0)] = 7
    fleet_share: bool = True
    score_scale: Literal["width", "locations"] = "locations"
    normalisation: str = "vehicle"

    def __post_init__(self) -> None:
        check_settings(self, "model.")
        NORMALISATIONS.check(self.normalisation)


class Network(PlanNetwork):
    """
    The paper's network: embedding, L pooling layers, decoder and normalisation.

    It predicts the whole tensor log Ŷ, shape (B, M, N', N'), not :class:`Factors`.

    Parameters
    ----------
    config
        The settings. Default: those of the paper.
    """

    Config = ModelConfig

    def __init__(self, config: ModelConfig | None = None) -> None:
        super().__init__(config)
        config = self.config
        d = config.width
        self.embed_depot = nn.Linear(4, d)
        self.embed_customer = nn.Linear(3, d)
        self.embed_vehicle = nn.Linear(4, d)
        self.embed_norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(3))
        self.priming = Priming(d)
        self.layers = nn.ModuleList(
            MaxPoolingLayer(d, config.hidden) for _ in range(config.layers)
        )
        self.decoder = Decoder(d)
        self.normalisation = NORMALISATIONS.get(config.normalisation)

    def forward(self, features: Features) -> Tensor:
        """Return log Ŷ, shape (B, M, N', N'), −inf where an edge is not allowed."""
        with torch.autocast(features.demands.device.type, enabled=False):
            distances = pairwise_distances(features.coordinates)
            pairs = _measure_pairs(features, distances)
            central = centrality(distances, features.nodes)
        nodes, vehicles = self._embed(features, central)
        for layer in self.layers:
            nodes, vehicles = layer(nodes, vehicles, pairs, self.priming)
        scale: float | Tensor = math.sqrt(self.config.width)
        if self.config.score_scale == "locations":
            scale = features.nodes.sum(1)[:, None, None, None]
        scores = self.decoder(nodes, vehicles) / scale
        return normalise(self.normalisation, scores, features)

    def required_bytes(self, size: int, nodes: int, vehicles: int) -> int:
        """Return an estimate of the peak memory of a prediction, in bytes."""
        tokens = nodes + vehicles
        scores = 6 * size * vehicles * nodes**2
        pairs = 8 * size * tokens**2
        width = 8 * self.config.width + 2 * self.config.hidden
        return int(4 * (scores + pairs + size * tokens * width))

    def fuse(self, fused: bool = True) -> Self:
        """
        Switch the Triton kernels of decoder and max pooling on or off.

        They are used on a GPU only. Returns the network.
        """
        if fused and torch.cuda.is_available():
            load_kernels()
        for module in self.modules():
            if isinstance(module, MaxPoolingLayer | Decoder):
                module.fused = fused
        return self

    def _embed(self, features: Features, central: Tensor) -> tuple[Tensor, Tensor]:
        """
        Return the first embeddings of locations, (B, N', d), and vehicles, (B, M, d).

        ``central`` is the centrality of each depot, which :func:`centrality` returns,
        (B,).
        """
        depot, customers = features.coordinates[:, :1], features.coordinates[:, 1:]
        central = central[:, None, None]
        x_depot = torch.cat((depot, torch.zeros_like(central), central), dim=2)
        x_customer = torch.cat((customers, features.demands[:, 1:, None]), dim=2)
        x_vehicle = _vehicle_features(features, self.config.fleet_share)
        embedded = (
            self.embed_depot(x_depot),
            self.embed_customer(x_customer),
            self.embed_vehicle(x_vehicle),
        )
        pairs = zip(self.embed_norms, embedded, strict=True)
        depot, customers, vehicles = (norm(x) for norm, x in pairs)
        return torch.cat((depot, customers), dim=1), vehicles


def _measure_pairs(features: Features, distances: Tensor) -> Pairs:
    """
    Return the features of all pairs of locations, and the masks of padding.

    The features are d_ij / mean d, where d_ij is the distance, and q_i + q_j, where q_i
    is a demand as a share of the capacity. ``distances`` has shape (B, N', N').
    """
    real = features.nodes[:, :, None] & features.nodes[:, None, :]
    places = features.nodes.sum(1)
    mean = (distances * real).sum((1, 2)) / (places * (places - 1)).clamp_min(1)
    demands = features.demands[:, :, None] + features.demands[:, None, :]
    scaled = distances / mean.clamp_min(1e-6)[:, None, None]
    return Pairs(scaled, demands, features.nodes, features.vehicles)


def _vehicle_features(features: Features, fleet_share: bool) -> Tensor:
    """
    Return four features of each vehicle k, shape (B, M, 4).

    The first two are k/M and M with ``fleet_share``, and 1/k and k without it. The
    third is always 1: the capacity as a share of the capacity. The fourth is the total
    demand as a share of the capacity of one vehicle.
    """
    one = torch.ones_like(features.vehicles, dtype=features.demands.dtype)
    number = one.cumsum(1)  # k = 1, ..., M
    total = (features.demands * features.nodes).sum(1, keepdim=True)
    fleet = features.vehicles.sum(1, keepdim=True) * one
    numbers = (number / fleet, fleet) if fleet_share else (1 / number, number)
    return torch.stack((*numbers, one, total * one), dim=2)
