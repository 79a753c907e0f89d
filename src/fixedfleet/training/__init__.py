"""Training of networks: settings, labels, loss, steps, validation, checkpoints."""

# ruff: noqa: E402  # a missing torch is reported before anything imports it
from fixedfleet.errors import require

require("torch", "network", "training")

from fixedfleet.training.loss import LossConfig, plan_loss
from fixedfleet.training.membership_loss import MembershipLossConfig
from fixedfleet.training.presets import Preset, TrainConfig, get_preset, list_presets
from fixedfleet.training.trainer import NonFiniteLossError, TrainResult, train
from fixedfleet.training.validation import Validation, validate

__all__ = [
    "LossConfig",
    "MembershipLossConfig",
    "NonFiniteLossError",
    "Preset",
    "TrainConfig",
    "TrainResult",
    "Validation",
    "get_preset",
    "list_presets",
    "plan_loss",
    "train",
    "validate",
]
