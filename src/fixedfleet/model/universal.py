"""The universal network, for all sizes: it predicts the vehicle of each customer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fixedfleet.errors import InputError, at_least, check_settings
from fixedfleet.model.features import MASKED, rotation, sweep_anchors
from fixedfleet.model.plan_network import Factors, PlanNetwork

if TYPE_CHECKING:
    from fixedfleet.model.features import Features

__all__ = ["Rounds", "UniversalConfig", "UniversalNetwork"]

_TINY = 1e-6
_PAIR_WIDTH = 32  # channels of the features of a pair
# Kinds of pairs: 3 · (group of i) + (group of j); depot 0, customers 1, vehicles 2.
_KINDS = (1, 2, 4, 5, 7, 8)


@dataclass(frozen=True, kw_only=True)
class UniversalConfig:
    """
    The settings of a universal network, which predicts for instances of all sizes.

    Parameters
    ----------
    width
        Channels of an embedding.
    hidden
        Hidden width of the feed-forward step of a layer.
    heads
        The number of attention heads.
    layers
        Layers of attention per round.
    rounds
        How often the network predicts. From the second round on, its previous
        prediction is part of its input; these rounds share their weights.
    transport
        The number of steps after each round that lower the scores of overloaded
        vehicles.

    Raises
    ------
    InputError
        If a setting is out of range.
    """

    width: Annotated[int, at_least(1)] = 256
    hidden: Annotated[int, at_least(1)] = 1024
    heads: Annotated[int, at_least(1)] = 8
    layers: Annotated[int, at_least(1)] = 4
    rounds: Annotated[int, at_least(1)] = 3
    transport: Annotated[int, at_least(0)] = 4

    def __post_init__(self) -> None:
        check_settings(self, "model.")
        if self.width % self.heads:
            raise InputError(
                f"model.heads is {self.heads}, which does not divide the width "
                f"{self.width}"
            )


class Rounds(NamedTuple):
    """
    The predictions of all rounds, in float32.

    Attributes
    ----------
    membership
        For each round, the log-probability that vehicle k serves customer i, shape
        (B, N, M). The probabilities of a customer sum to one.
    neighbours
        The log-probability that location j is next to customer i in a tour, from the
        last round, shape (B, N, N').
    """

    membership: tuple[Tensor, ...]
    neighbours: Tensor


class _Scene(NamedTuple):
    """
    The features of a batch of instances, as the layers of the network need them.

    Coordinates are relative to the depot, and the mean distance between two locations
    is 1. Depot, customers and vehicles are the T = N' + M elements that attend to each
    other.
    """

    points: Tensor  # (B, N', 2)
    demands: Tensor  # as shares of the capacity, 0 for depot and padding, (B, N')
    real: Tensor  # which customers are not padding, (B, N)
    vehicles: Tensor  # which vehicles are not padding, (B, M)
    density: Tensor  # √N, about 1 / the distance between neighbours, (B,)
    shape: Tensor  # Σq/MQ, log M and log N, (B, 3)
    mask: Tensor  # 0 where element i attends to j, otherwise −10⁴, (B, 1, T, T)
    kinds: Tensor  # the kind of each pair of elements, one-hot, (B, 6, T, T)


class UniversalNetwork(PlanNetwork):
    """
    The network for all sizes: attention over depot, customers and vehicles, in rounds.

    Each vehicle has a position. First, the customers are sorted by their angle around
    the depot and divided among the vehicles, and each vehicle is placed at the centre
    of its customers. After each round, it moves to the centre of the customers that it
    probably serves.

    Parameters
    ----------
    config
        The settings.
    """

    Config = UniversalConfig
    default_loss = "membership"
    factored = True

    def __init__(self, config: UniversalConfig | None = None) -> None:
        super().__init__(config)
        config = self.config
        width = config.width
        self.embed_depot = nn.Linear(3, width)
        self.embed_customer = nn.Linear(13, width)
        self.embed_vehicle = nn.Linear(10, width)
        self.first = _Round(config)
        if config.rounds > 1:
            self.again_customer = nn.Linear(4, width)
            self.again_vehicle = nn.Linear(8, width)
            self.again = _Round(config)
        self.tail = nn.Linear(width, width)
        self.head = nn.Linear(width, width)

    def forward(self, features: Features) -> Rounds:
        """Return the predictions of all rounds."""
        with torch.autocast(features.demands.device.type, enabled=False):
            scene = _make_scene(features)
            anchors, needed = sweep_anchors(
                features._replace(coordinates=scene.points, demands=scene.demands)
            )
            depot, customers = scene.shape, _customer_features(scene)
            vehicles = _vehicle_features(scene, anchors, needed)
        tokens = torch.cat(
            (
                self.embed_depot(depot)[:, None],
                self.embed_customer(customers),
                self.embed_vehicle(vehicles),
            ),
            dim=1,
        ).float()
        found = self.first(tokens, scene, anchors, None)
        membership = [found.membership]
        for _ in range(1, self.config.rounds):
            with torch.autocast(features.demands.device.type, enabled=False):
                seen = _make_feedback(scene, membership[-1])
            step = torch.cat(
                (
                    torch.zeros_like(tokens[:, :1]),
                    self.again_customer(seen.customers).float(),
                    self.again_vehicle(seen.vehicles).float(),
                ),
                dim=1,
            )
            found = self.again(found.tokens + step, scene, seen.anchors, seen.served)
            membership.append(found.membership)
        return Rounds(tuple(membership), self._neighbours(found, features.nodes))

    def read(self, output: Rounds) -> Factors:
        """Return the prediction of the last round."""
        return Factors(output.membership[-1], output.neighbours)

    def augment(self, coordinates: Tensor, codes: Tensor) -> Tensor:
        """
        Return the coordinates, each instance rotated by the angle of its code.

        An instance with an odd code is also mirrored. :func:`rotation` says which angle
        a code stands for. The arguments are those of :meth:`PlanNetwork.augment`.
        """
        return rotation(coordinates, codes)

    def required_bytes(self, size: int, nodes: int, vehicles: int) -> int:
        """Return an estimate of the peak memory of a prediction, in bytes."""
        config, tokens = self.config, nodes + vehicles
        pairs = size * tokens**2 * (100 + 2 * config.layers * config.heads)
        width = 8 * config.width + 2 * config.hidden
        return int(4 * (pairs + size * tokens * width))

    def reduce_weights(self) -> None:
        """
        Convert the weights of matrix products to bfloat16, for predictions on a CPU.
        """
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.to(torch.bfloat16)

    def compile_parts(self) -> None:
        """
        Compile layers and attention biases for training on a GPU, once per batch shape.

        All rounds share the compiled code.
        """
        torch._dynamo.config.recompile_limit = 64
        for kind in (_Layer, _PairBias):
            compiled = torch.compile(kind.forward, dynamic=False)
            for module in self.modules():
                if isinstance(module, kind):
                    module.__dict__["forward"] = partial(compiled, module)

    def _neighbours(self, found: _RoundOutput, nodes: Tensor) -> Tensor:
        """
        Return the log-probability that location j is next to customer i, (B, N, N').

        ``found`` is the output of the last round; ``nodes`` is false for padding,
        (B, N').
        """
        n = nodes.shape[1]
        places = found.normed[:, :n]
        scores: Tensor = self.tail(places[:, 1:]) @ self.head(places).mT
        scores = scores.float() / math.sqrt(self.config.width)
        scores = scores + found.pair_scores[:, 1, 1:n, :n].float()
        own = torch.eye(n, dtype=torch.bool, device=nodes.device)[1:]
        return scores.masked_fill(~nodes[:, None] | own, MASKED).log_softmax(2)


class _RoundOutput(NamedTuple):
    """
    The embeddings and the prediction of one round.

    T = N' + M counts depot, customers and vehicles.
    """

    tokens: Tensor  # (B, T, d)
    normed: Tensor  # the same after the last norm
    membership: Tensor  # log-probabilities, (B, N, M)
    pair_scores: Tensor  # added to the scores of membership, neighbours, (B, 2, T, T)


class _Round(nn.Module):
    """
    One round of the universal network: layers of attention, then a prediction.
    """

    def __init__(self, config: UniversalConfig) -> None:
        super().__init__()
        self.transport = config.transport
        width = config.width
        self.pairs = _PairBias(config)
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(width)
        self.customer = nn.Linear(width, width)
        self.vehicle = nn.Linear(width, width)

    def forward(
        self, tokens: Tensor, scene: _Scene, anchors: Tensor, served: Tensor | None
    ) -> _RoundOutput:
        """
        Return the embeddings after this round, and its prediction.

        Parameters
        ----------
        tokens
            The embeddings before this round, shape (B, T, d).
        scene
            The instances.
        anchors
            The positions of the vehicles, shape (B, M, 2).
        served
            The probabilities that vehicle k serves customer i, from the previous round,
            shape (B, N, M). None in the first round.
        """
        biases, scores = self.pairs(scene, anchors, served)
        for layer, bias in zip(self.layers, biases.unbind(0), strict=True):
            tokens = layer(tokens, bias)
        normed = self.norm(tokens)
        n = scene.points.shape[1]
        logits = self.customer(normed[:, 1:n]) @ self.vehicle(normed[:, n:]).mT
        logits = logits.float() / math.sqrt(tokens.shape[2])
        logits = logits + scores[:, 0, 1:n, n:].float()
        with torch.autocast(tokens.device.type, enabled=False):
            membership = _transport(logits, scene, self.transport)
        return _RoundOutput(tokens, normed, membership, scores)


class _PairBias(nn.Module):
    """
    Computes attention biases and two scores for each pair of depot, customer, vehicle.

    One score is added to the score that a vehicle serves a customer, the other to the
    score that two locations are neighbours in a tour.
    """

    def __init__(self, config: UniversalConfig) -> None:
        super().__init__()
        self.shape = config.layers, config.heads
        self.pair = nn.Linear(8 + len(_KINDS), _PAIR_WIDTH)
        self.bias = nn.Linear(_PAIR_WIDTH, config.layers * config.heads + 2)

    def forward(
        self, scene: _Scene, anchors: Tensor, served: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """
        Return the attention biases of all layers, and two scores of each pair.

        The biases have shape (layers, B, heads, T, T), and the scores (B, 2, T, T), for
        T = N' + M elements. The first score is added to the score that a vehicle serves
        a customer, and the second to the score that two locations are neighbours.
        ``anchors`` and ``served`` are as in :func:`_pair_features`. The channels come
        before the pairs, because attention needs the biases in this layout; copying
        them into it would take longer than all matrix products.
        """
        with torch.autocast(anchors.device.type, enabled=False):
            planes = _pair_features(scene, anchors, served)
        size, _, *area = planes.shape
        hidden = F.gelu(_apply_to_columns(self.pair, planes.flatten(2)))
        found = _apply_to_columns(self.bias, hidden).view(size, -1, *area)
        biases = found[:, :-2].add_(scene.mask).view(size, *self.shape, *area)
        return biases.transpose(0, 1), found[:, -2:]


def _apply_to_columns(linear: nn.Linear, columns: Tensor) -> Tensor:
    """Apply a linear layer to columns (B, inputs, n); return shape (B, outputs, n)."""
    weight = linear.weight.expand(len(columns), -1, -1)
    return torch.baddbmm(linear.bias[:, None], weight, columns)


class _Layer(nn.Module):
    """Attention between depot, customers and vehicles, then a feed-forward step."""

    def __init__(self, config: UniversalConfig) -> None:
        super().__init__()
        width, hidden = config.width, config.hidden
        self.heads = config.heads
        self.norm_attention = nn.LayerNorm(width)
        self.project = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm_feed = nn.LayerNorm(width)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, tokens: Tensor, bias: Tensor) -> Tensor:
        """
        Return the next embeddings, shape (B, T, d).

        ``bias`` is added to the attention scores, shape (B, heads, T, T).
        """
        b, t, d = tokens.shape
        split = self.project(self.norm_attention(tokens)).view(b, t, 3, self.heads, -1)
        query, key, value = split.permute(2, 0, 3, 1, 4)  # each (B, heads, T, d/heads)
        pooled = F.scaled_dot_product_attention(
            query, key, value, attn_mask=bias.to(query.dtype)
        )
        tokens = tokens + self.out(pooled.transpose(1, 2).reshape(b, t, d))
        fed: Tensor = self.down(F.gelu(self.up(self.norm_feed(tokens))))
        return tokens + fed


def _make_scene(features: Features) -> _Scene:
    """
    Return the features of the instances as the layers of the network need them.

    Coordinates are relative to the depot and divided by the mean distance between two
    locations.
    """
    nodes, vehicles = features.nodes, features.vehicles
    points = (features.coordinates - features.coordinates[:, :1]) * nodes[..., None]
    demands = features.demands * nodes
    both = nodes[:, :, None] & nodes[:, None]
    places = nodes.sum(1).to(points.dtype)
    mean = (_distances(points) * both).sum((1, 2)) / (places * (places - 1)).clamp(1)
    points = points / mean.clamp_min(_TINY)[:, None, None]
    customers = (places - 1).clamp_min(1)
    fleet = vehicles.sum(1).to(points.dtype)
    shape = (demands.sum(1) / fleet, fleet.log() / 3, customers.log() / 5)
    real = torch.cat((nodes, vehicles), dim=1)
    place = torch.arange(real.shape[1], device=real.device)
    attended = real[:, None] & (place[:, None] != place)  # (B, T, T)
    # The groups are computed by comparisons, one by one. A number or a list would be
    # copied from the host, which is not allowed while a CUDA graph is captured.
    group = (place > 0).long() + (place >= nodes.shape[1]).long()
    kinds = 3 * group[:, None] + group
    one_hot = torch.stack([kinds == known for known in _KINDS]).to(points.dtype)
    return _Scene(
        points=points,
        demands=demands,
        real=nodes[:, 1:],
        vehicles=vehicles,
        density=customers.sqrt(),
        shape=torch.stack(shape, dim=1),
        mask=torch.where(attended, 0.0, MASKED)[:, None],
        kinds=one_hot.expand(len(points), -1, -1, -1),
    )


def _customer_features(scene: _Scene) -> Tensor:
    """
    Return 13 features of each customer, shape (B, N, 13).

    They describe its coordinates, its direction from the depot, its demand, its
    neighbours, and the instance as a whole.
    """
    points, demands = scene.points[:, 1:], scene.demands[:, 1:]
    real, density = scene.real, scene.density[:, None, None]
    distances = _distances(points) * density
    near = torch.exp(-distances) * (real[:, :, None] & real[:, None])
    place = torch.arange(points.shape[1], device=points.device)
    apart = real[:, None] & (place[:, None] != place)
    others = distances.masked_fill(~apart, 9.0).clamp(max=9.0)
    fifth = min(5, others.shape[2])
    nearest = others.topk(fifth, dim=2, largest=False).values
    away = points.norm(dim=2, keepdim=True)
    return torch.cat(
        (
            points,
            away,
            points / away.clamp_min(_TINY),
            demands[..., None],
            nearest[..., :1] / 4,
            nearest[..., -1:] / 4,
            near.sum(2, keepdim=True),
            near @ demands[..., None],
            scene.shape[:, None].expand(-1, points.shape[1], -1),
        ),
        dim=2,
    )


def _vehicle_features(scene: _Scene, anchors: Tensor, needed: Tensor) -> Tensor:
    """
    Return ten features of each vehicle, shape (B, M, 10).

    They describe its position, its direction from the depot, whether it is needed, its
    number, and the instance as a whole. ``anchors`` and ``needed`` are the results of
    :func:`sweep_anchors`: the positions, (B, M, 2), and a mask of the vehicles to which
    the sweep gives customers, (B, M).
    """
    away = anchors.norm(dim=2, keepdim=True)
    number = scene.vehicles.cumsum(1) / scene.vehicles.sum(1, keepdim=True)
    return torch.cat(
        (
            anchors,
            away,
            anchors / away.clamp_min(_TINY),
            needed[..., None].to(away.dtype),
            number[..., None],
            scene.shape[:, None].expand(-1, anchors.shape[1], -1),
        ),
        dim=2,
    )


class _Feedback(NamedTuple):
    """The prediction of one round, as features for the next round."""

    anchors: Tensor  # centres of the customers of each vehicle, (B, M, 2)
    served: Tensor  # probabilities, 0 for padding, (B, N, M)
    customers: Tensor  # features, (B, N, 4)
    vehicles: Tensor  # features, (B, M, 8)


def _make_feedback(scene: _Scene, membership: Tensor) -> _Feedback:
    """
    Return the prediction of this round as features for the next round.

    ``membership`` holds the log-probabilities of this round, shape (B, N, M).
    """
    points = scene.points[:, 1:]
    served = membership.exp() * scene.real[..., None]
    shares = served / served.sum(1, keepdim=True).clamp_min(_TINY)
    anchors = shares.mT @ points
    away = (anchors.square().sum(2, keepdim=True) + 1e-12).sqrt()
    squares = shares.mT @ points.square().sum(2, keepdim=True)
    spread = (squares - away.square()).clamp_min(0).add(1e-8).sqrt()
    loads = served.mT @ scene.demands[:, 1:, None]
    customers = scene.density.square()[:, None, None]
    fleet = scene.vehicles.sum(1)[:, None, None]
    count = served.sum(1)[..., None] / customers * fleet
    entropy = -(served * membership.clamp_min(-20)).sum(2, keepdim=True)
    surest = served.amax(2, keepdim=True)
    vehicles = (anchors, away, anchors / away.clamp_min(_TINY), loads, count, spread)
    return _Feedback(
        anchors=anchors,
        served=served,
        customers=torch.cat((surest, entropy, served @ anchors - points), dim=2),
        vehicles=torch.cat(vehicles, dim=2),
    )


def _pair_features(scene: _Scene, anchors: Tensor, served: Tensor | None) -> Tensor:
    """
    Return 14 features of each pair of elements, shape (B, 14, T, T).

    The T = N' + M elements are depot, customers and vehicles. Among the features are
    distance, angle, demand, and the probability that one vehicle serves both elements.
    ``anchors`` are the positions of the vehicles, (B, M, 2). ``served`` holds the
    probabilities that vehicle k serves customer i, (B, N, M); if it is None, the
    probability of a pair is 0.
    """
    points = torch.cat((scene.points, anchors), dim=1)
    distances = _distances(points)
    away = (points.square().sum(2, keepdim=True) + 1e-12).sqrt()
    cosine = points @ points.mT / (away @ away.mT).clamp_min(_TINY)
    demands = F.pad(scene.demands, (0, anchors.shape[1]))
    together = torch.zeros_like(distances)
    if served is not None:
        fleet = anchors.shape[1]
        customers = F.pad(torch.cat((served @ served.mT, served), dim=2), (1, 0))
        vehicles = F.pad(served.mT, (1, fleet))
        together = F.pad(torch.cat((customers, vehicles), dim=1), (0, 0, 1, 0))
    found = (
        distances,
        torch.exp(-4 * distances),
        torch.exp(-scene.density[:, None, None] * distances),
        away + away.mT - distances,  # Clarke and Wright's saving
        cosine,
        demands[:, :, None] + demands[:, None],
        together,
        together.clamp_min(1e-4).log() / 4,
    )
    return torch.cat((*(pair[:, None] for pair in found), scene.kinds), dim=1)


def _transport(logits: Tensor, scene: _Scene, steps: int) -> Tensor:
    """
    Return log-probabilities (B, N, M) after moving demand off overloaded vehicles.

    ``logits`` are the scores of customers and vehicles, of the same shape. Each step
    lowers the scores of every overloaded vehicle by the logarithm of its expected load,
    in units of the capacity. This is Sinkhorn's algorithm with an upper bound on the
    sum of each column.
    """
    logits = logits.masked_fill(~scene.vehicles[:, None], MASKED)
    price = torch.zeros_like(logits[:, :1])
    for _ in range(steps):
        loads = scene.demands[:, None, 1:] @ (logits - price).softmax(2)  # (B, 1, M)
        price = price + loads.clamp_min(_TINY).log().relu()
    return (logits - price).log_softmax(2)


def _distances(points: Tensor) -> Tensor:
    """
    Return distances between points (B, T, 2), shape (B, T, T).

    Unlike a plain norm, it has a finite gradient where two points are equal.
    """
    x, y = points.unbind(2)
    x, y = x[:, :, None] - x[:, None], y[:, :, None] - y[:, None]
    return (x.square() + y.square() + 1e-12).sqrt()
