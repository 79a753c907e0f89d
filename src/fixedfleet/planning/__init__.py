"""
Turn a network's prediction Ŷ into plans: by a decoder, then by a repair.

Tensors of tours have shape (B, M, N): B instances, M vehicles, N customers. A tour
holds its customers in visiting order, then zeros. N' = N + 1 counts the depot too.
"""

# ruff: noqa: E402  # if torch is missing, `require` says so before anything imports it
from fixedfleet.errors import require

require("torch", "network", "decoding a prediction")

from fixedfleet.planning.decoders import DECODERS, decode, get_decoder
from fixedfleet.planning.greedy import pseudo_greedy
from fixedfleet.planning.network_plans import (
    PlansByNetwork,
    load_decoding,
    load_network,
    plan_by_network,
)
from fixedfleet.planning.predicting import certain_prediction, predict, predict_views
from fixedfleet.planning.prediction import Prediction
from fixedfleet.planning.repair import RepairOptions

__all__ = [
    "DECODERS",
    "PlansByNetwork",
    "Prediction",
    "RepairOptions",
    "certain_prediction",
    "decode",
    "get_decoder",
    "load_decoding",
    "load_network",
    "plan_by_network",
    "predict",
    "predict_views",
    "pseudo_greedy",
]
